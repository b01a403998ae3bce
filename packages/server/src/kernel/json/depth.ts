/** Whether arrays and objects in a parsed value are nested at most `levels` deep. */
export function isNestedAtMost(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isNestedAtMost(inner, levels - 1));
}
