import { isAway, isTimeout } from "#kernel";
import type { LaneId, LaneKey } from "./lane.ts";

/** The maximum number of lanes of a pass that may take too long: then it may be the table that is slow. */
export const MAX_TIMEOUTS = 2;

/** Which lanes are found: either those of `ids`, or all others. */
export interface WhichLanes {
  readonly ids: readonly LaneId[];
  readonly among: boolean;
}

/**
 * Finds the lanes of a pass: others, and those that failed in earlier passes. The latter take turns, those first that have waited longest. Lanes
 * that are not found are forgotten.
 *
 * @param failed lanes that failed, the longest ago first
 * @param limit how many of both are found
 * @param find lanes that still need the pass
 */
export async function findInTurns<Lane extends LaneKey>(
  failed: Set<LaneId>,
  limit: number,
  find: (which: WhichLanes, limit: number) => Promise<Lane[]>,
): Promise<{ readonly others: Lane[]; readonly again: Lane[] }> {
  const others = await find({ ids: [...failed], among: false }, limit);
  const ids = [...failed].slice(0, limit);
  if (ids.length === 0) return { others, again: [] };
  const found = new Map((await find({ ids, among: true }, limit)).map((lane) => [lane.laneId, lane]));
  for (const id of ids) if (!found.has(id)) failed.delete(id);
  return { others, again: ids.flatMap((id) => found.get(id) ?? []) };
}

/** What became of a pass: whether a lane ended it, and what went wrong. */
interface TriedLanes {
  readonly hasEnded: boolean;
  readonly failures: readonly unknown[];
}

/**
 * Tries lanes one after the other. A lane that fails is reported, and keeps no other from being tried.
 *
 * @param work returns whether it ends the pass
 * @throws UNAVAILABLE when the database is unavailable
 */
export async function tryEach<Lane extends LaneKey>(
  lanes: readonly Lane[],
  failed: Set<LaneId>,
  work: (lane: Lane) => Promise<boolean>,
  onFailed: (lane: Lane, error: unknown) => void,
): Promise<TriedLanes> {
  const failures: unknown[] = [];
  let timeouts = 0;
  for (const lane of lanes) {
    if (timeouts === MAX_TIMEOUTS) break;
    try {
      if (await work(lane)) return { hasEnded: true, failures };
      failed.delete(lane.laneId);
    } catch (error) {
      if (isTimeout(error)) timeouts += 1;
      else if (isAway(error)) throw error;
      onFailed(lane, error);
      moveToEnd(failed, lane.laneId);
      failures.push(error);
    }
  }
  return { hasEnded: false, failures };
}

/** A lane has failed: it is tried again after the others that have. */
export function moveToEnd(failed: Set<LaneId>, laneId: LaneId): void {
  failed.delete(laneId);
  failed.add(laneId);
}
