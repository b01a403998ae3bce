/** A copy of a value from the journal. The code that gets it may change it. That must not change what is stored, undone or replayed. */
export const copyOf = (value: unknown): unknown => (typeof value === "object" && value !== null ? structuredClone(value) : value);
