/** A member for each name, with the names in its type. */
export const each = <const Name extends string, Value>(names: readonly Name[], valueOf: (name: Name) => Value): { [Key in Name]: Value } =>
  Object.fromEntries(names.map((name) => [name, valueOf(name)])) as { [Key in Name]: Value };
