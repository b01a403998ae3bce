import { sweepLaneJobs } from "#jobs";
import type { Transactional } from "#kernel";
import { findDeletedLanesAcrossWorkspaces, type LaneKey, removeEmptyLane } from "#lanes";
import { removeSchedulesOf } from "#schedules";
import { sweepLaneDeliveries } from "#webhooks";
import { sweepLaneRuns } from "#workflows";

/** Lanes per pass. */
const MAX_LANES = 100;

/**
 * Deletes the jobs, runs and deliveries of deleted lanes and their idempotency keys, then the lanes. Schedules are deleted with their queue. A
 * schedule that was created while its workspace was being deleted still exists, and must create no more jobs. A pass ends with the first lane that
 * has more than a portion, so that a node that stops does not wait for all of it.
 *
 * @param onWoken called with the lanes of runs that waited for a deleted one
 * @returns 0 when there may be more to do, in milliseconds
 */
export async function sweepDeletedLanesAcrossWorkspaces(
  db: Transactional,
  onWoken: (lanes: LaneKey[]) => void,
): Promise<number | undefined> {
  const failures: unknown[] = [];
  let hasMore = false;
  for (const lane of await findDeletedLanesAcrossWorkspaces(db, MAX_LANES)) {
    try {
      hasMore = await sweepLane(db, lane, onWoken);
    } catch (error) {
      // One that fails does not keep the others from being swept.
      failures.push(error);
    }
    if (hasMore) break;
  }
  if (failures.length > 0) throw failures[0];
  return hasMore ? 0 : undefined;
}

/** Returns whether there may be more to delete. */
async function sweepLane(db: Transactional, lane: LaneKey, onWoken: (lanes: LaneKey[]) => void): Promise<boolean> {
  await removeSchedulesOf(db, lane);
  const hasMore = (await sweepLaneJobs(db, lane)) || (await sweepLaneRuns(db, lane, onWoken)) || (await sweepLaneDeliveries(db, lane));
  if (!hasMore) await removeEmptyLane(db, lane);
  return hasMore;
}
