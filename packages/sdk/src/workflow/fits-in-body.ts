/** The service refuses these names where it does not store a value exactly as it was written. */
const NAMES = new Set(["__proto__", "constructor"]);

/** Whether values may be in a body that the service does not store exactly as it was written. It limits their number and depth. */
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

/** How many values a body has, its objects and lists included. */
export function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + countValues(member), 1);
}
