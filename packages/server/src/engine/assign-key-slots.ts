import { lockKeysOf, reassignSomeAcrossWorkspaces } from "#jobs";
import type { Db, WorkspaceId } from "#kernel";
import type { LaneId, LaneKey, Waker } from "#lanes";

/** Jobs of one lane that get slots in one transaction. A settle of a job with the same key waits for the transaction. */
const MAX_JOBS = 1_000;

/**
 * Runs `change`, which changes a lane's `concurrency_per_key`, with all keys of the lane locked. So it sees every move made under the old
 * limit, and later moves see the new one. The slots of the first keys are reassigned immediately. If those are all, the new limit holds
 * from the commit on.
 */
export async function changeKeyLimit<Changed>(tx: Db, laneId: LaneId, change: () => Promise<Changed>): Promise<Changed> {
  await lockKeysOf(tx, laneId);
  const changed = await change();
  await reassignSomeAcrossWorkspaces(tx, MAX_JOBS, { only: laneId });
  return changed;
}

/**
 * Reassigns the slots of keys in lanes whose `concurrency_per_key` changed, some keys of one lane of each workspace at a time. Returns 0,
 * for another pass immediately, while there may be more.
 */
export async function reassignKeySlotsAcrossWorkspaces(db: Db, waker: Waker): Promise<number | undefined> {
  const lanes: LaneKey[] = [];
  for (let afterWorkspace: WorkspaceId | undefined; ; ) {
    const done = await reassignSomeAcrossWorkspaces(db, MAX_JOBS, { afterWorkspace });
    if (!done) break;
    lanes.push(done);
    afterWorkspace = done.workspaceId;
  }
  if (lanes.length > 0) waker.wake(lanes);
  return lanes.length > 0 ? 0 : undefined;
}
