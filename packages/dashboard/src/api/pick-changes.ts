/**
 * The members of a record that differ from before, compared as JSON. A request with only these does not undo what others change meanwhile.
 */
export const pickChanges = <T extends object>(before: Readonly<Partial<T>>, after: Readonly<T>): Partial<T> =>
  Object.fromEntries(
    Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof T])),
  ) as Partial<T>;
