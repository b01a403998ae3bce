import type { Db } from "#kernel";
import type { LaneId } from "#queues";
import type { LaneKey } from "./claim.ts";
import { arrangeSomeAcrossWorkspaces, lockKeysOf } from "./store.ts";

/** Jobs of one queue that get slots in one transaction: whoever settles one with the same key waits for it. */
const MOST_JOBS = 1_000;
const MOST_QUEUES = 20;

/**
 * Changes a queue's `concurrency_per_key` by `change`, in its transaction. Nobody has a key of the queue meanwhile: jobs that are moved
 * by the old number are seen, and all others find the new one. The first keys are arranged at once; where there are no more, the new
 * number counts from the commit on.
 */
export async function changeKeyLimit<Changed>(tx: Db, laneId: LaneId, change: () => Promise<Changed>): Promise<Changed> {
  await lockKeysOf(tx, laneId);
  const changed = await change();
  await arrangeSomeAcrossWorkspaces(tx, MOST_JOBS, { only: laneId });
  return changed;
}

/**
 * Gives the jobs of keys their slots anew in queues whose `concurrency_per_key` was changed, some keys of each at a time. Answers 0,
 * for another pass at once, while there are more.
 */
export async function arrangeAcrossWorkspaces(db: Db, onWaiting: (lanes: LaneKey[]) => void): Promise<number | undefined> {
  const lanes: LaneKey[] = [];
  let more = false;
  for (let queues = 0; queues < MOST_QUEUES; queues += 1) {
    const arranged = await arrangeSomeAcrossWorkspaces(db, MOST_JOBS, { but: lanes });
    if (!arranged) break;
    lanes.push(arranged);
    more ||= arranged.more;
  }
  if (lanes.length > 0) onWaiting(lanes);
  return more || lanes.length === MOST_QUEUES ? 0 : undefined;
}
