import type { LaneId, LaneKey } from "./lane.ts";

/**
 * The lanes of a pass that failed in earlier passes, those first that have waited longest: they take turns. Lanes that are not found are
 * forgotten.
 *
 * @param failed lanes that failed, the longest ago first
 * @param limit how many are tried
 * @param find those of these lanes that still need the pass
 */
export async function findAgain<Lane extends LaneKey>(
  failed: Set<LaneId>,
  limit: number,
  find: (ids: readonly LaneId[]) => Promise<Lane[]>,
): Promise<Lane[]> {
  const ids = [...failed].slice(0, limit);
  if (ids.length === 0) return [];
  const found = new Map((await find(ids)).map((lane) => [lane.laneId, lane]));
  for (const id of ids) if (!found.has(id)) failed.delete(id);
  return ids.flatMap((id) => found.get(id) ?? []);
}

/** A lane has failed: it is tried again after the others that have. */
export function moveToEnd(failed: Set<LaneId>, laneId: LaneId): void {
  failed.delete(laneId);
  failed.add(laneId);
}
