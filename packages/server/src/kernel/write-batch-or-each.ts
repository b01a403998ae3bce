import { isAway } from "./problem.ts";

/**
 * Writes items together. If the database refuses that, each is written alone, so that an item that it refuses does not fail the others.
 *
 * @param onSplit called with the error because of which they are written alone
 * @returns for each item its result, or the error for which it could not be written
 */
export async function writeBatchOrEach<Item, Done>(
  items: readonly Item[],
  write: (items: Item[]) => Promise<Done[]>,
  onSplit: (error: unknown) => void = () => {},
): Promise<(Done | Error)[]> {
  if (items.length === 0) return [];
  try {
    return await write([...items]);
  } catch (error) {
    if (items.length === 1 || isAway(error)) throw error;
    onSplit(error);
    const outcomes = await Promise.allSettled(items.map((item) => write([item])));
    return outcomes.map((outcome) => (outcome.status === "fulfilled" ? (outcome.value[0] as Done) : (outcome.reason as Error)));
  }
}
