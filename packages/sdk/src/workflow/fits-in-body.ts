/** The service refuses these names where it does not keep a value as it was written. */
const NAMES = new Set(["__proto__", "constructor"]);

/** Whether values may stand in a body in which the service does not keep them as they were written. It limits how many there are, and how deep. */
export function fitInBody(values: readonly unknown[], maxValues: number, maxDepth: number): boolean {
  let count = 0;
  const fits = (value: unknown, depth: number): boolean => {
    count += 1;
    if (count > maxValues || depth > maxDepth) return false;
    if (typeof value !== "object" || value === null) return true;
    return Object.entries(value).every(([name, member]) => !NAMES.has(name) && fits(member, depth + 1));
  };
  return values.every((value) => fits(value, 0));
}

/** How many values a body has in its objects and lists, with themselves. */
export function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + countValues(member), 1);
}
