import { lockKeysOf, reassignSomeAcrossWorkspaces } from "#jobs";
import type { Db } from "#kernel";
import type { LaneId, LaneKey, Waker } from "#lanes";

/** Jobs of one lane that get slots in one transaction. A settle of a job with the same key waits for it. */
const MAX_JOBS = 1_000;
const MAX_LANES = 20;

/**
 * Changes a lane's `concurrency_per_key` by `change`, in its transaction. All keys of the lane are locked meanwhile, so jobs moved by the
 * old limit are seen, and all others find the new one. Slots of the first keys are assigned at once; where there are no more, the new limit
 * counts from the commit on.
 */
export async function changeKeyLimit<Changed>(tx: Db, laneId: LaneId, change: () => Promise<Changed>): Promise<Changed> {
  await lockKeysOf(tx, laneId);
  const changed = await change();
  await reassignSomeAcrossWorkspaces(tx, MAX_JOBS, { only: laneId });
  return changed;
}

/**
 * Assigns the slots of keys again in lanes whose `concurrency_per_key` changed, some keys of each at a time. Answers 0, for another pass
 * at once, while there are more.
 */
export async function reassignKeySlotsAcrossWorkspaces(db: Db, waker: Waker): Promise<number | undefined> {
  const lanes: LaneKey[] = [];
  let more = false;
  for (let count = 0; count < MAX_LANES; count += 1) {
    const done = await reassignSomeAcrossWorkspaces(db, MAX_JOBS, { except: lanes });
    if (!done) break;
    lanes.push(done);
    more ||= done.more;
  }
  if (lanes.length > 0) waker.wake(lanes);
  return more || lanes.length === MAX_LANES ? 0 : undefined;
}
