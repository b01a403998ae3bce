import { sweepLaneJobs } from "#jobs";
import type { Db } from "#kernel";
import { findDeletedLanesAcrossWorkspaces, removeEmptyLane } from "#lanes";
import { removeSchedulesOf } from "#schedules";

/** Lanes of one pass. */
const MAX_LANES = 100;

/**
 * Deletes the jobs of deleted lanes and their idempotency keys, then the lanes. Schedules go with their queue; one that is still there was
 * made in a workspace that was being deleted, and must make no more jobs.
 */
export async function sweepDeletedLanesAcrossWorkspaces(db: Db): Promise<void> {
  for (const lane of await findDeletedLanesAcrossWorkspaces(db, MAX_LANES)) {
    await removeSchedulesOf(db, lane);
    await sweepLaneJobs(db, lane);
    await removeEmptyLane(db, lane);
  }
}
