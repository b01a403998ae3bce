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
 * schedule that was created while its workspace was being deleted still exists, and must create no more jobs.
 *
 * @param onWoken called with the lanes of runs that waited for a deleted one
 */
export async function sweepDeletedLanesAcrossWorkspaces(db: Transactional, onWoken: (lanes: LaneKey[]) => void): Promise<void> {
  const failures: unknown[] = [];
  for (const lane of await findDeletedLanesAcrossWorkspaces(db, MAX_LANES)) {
    // One that fails does not keep the others from being swept.
    await sweepLane(db, lane, onWoken).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

async function sweepLane(db: Transactional, lane: LaneKey, onWoken: (lanes: LaneKey[]) => void): Promise<void> {
  await removeSchedulesOf(db, lane);
  await sweepLaneJobs(db, lane);
  await sweepLaneRuns(db, lane, onWoken);
  await sweepLaneDeliveries(db, lane);
  await removeEmptyLane(db, lane);
}
