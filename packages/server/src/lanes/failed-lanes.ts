import { isAway, isTimeout } from "#kernel";
import type { LaneId, LaneKey } from "./lane.ts";

/** The maximum number of lanes of a pass that may take too long: then it may be the table that is slow. */
const MAX_TIMEOUTS = 2;

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

/** Tries the lanes of a pass. One that fails is reported, and keeps no other from being tried. */
export class LaneTries<Lane extends LaneKey> {
  readonly failures: unknown[] = [];
  readonly #failed: Set<LaneId>;
  readonly #onFailed: (lane: Lane, error: unknown) => void;
  #timeouts = 0;

  /** @param failed lanes that failed, the longest ago first. A lane is added when it fails, and removed when it does not. */
  constructor(failed: Set<LaneId>, onFailed: (lane: Lane, error: unknown) => void) {
    this.#failed = failed;
    this.#onFailed = onFailed;
  }

  /**
   * @returns the result of `work`, or null if it failed
   * @throws UNAVAILABLE when the database is unavailable, or too slow for several lanes
   */
  async try<Done>(lane: Lane, work: () => Promise<Done>): Promise<Done | null> {
    try {
      const done = await work();
      this.#failed.delete(lane.laneId);
      return done;
    } catch (error) {
      if (isTimeout(error)) this.#timeouts += 1;
      else if (isAway(error)) throw error;
      this.#onFailed(lane, error);
      this.failures.push(error);
      // It is tried again after the others that failed.
      this.#failed.delete(lane.laneId);
      this.#failed.add(lane.laneId);
      if (this.#timeouts === MAX_TIMEOUTS) throw error;
      return null;
    }
  }
}
