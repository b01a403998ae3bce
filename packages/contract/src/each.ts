/** An object with a member for each name. Its type has these names. */
export const each = <const Name extends string, Value>(names: readonly Name[], make: (name: Name) => Value): { [Key in Name]: Value } =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as { [Key in Name]: Value };
