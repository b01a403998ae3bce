import { sweepLaneJobs } from "#jobs";
import type { EmitEvent, Transactional } from "#kernel";
import { findDeletedLanesAcrossWorkspaces, findInTurns, type LaneId, type LaneKey, LaneTries, removeEmptyLane } from "#lanes";
import { removeSchedulesOf } from "#schedules";
import { sweepLaneDeliveries } from "#webhooks";
import { sweepLaneRuns } from "#workflows";

/** The maximum number of lanes per pass. */
const MAX_LANES = 100;

/**
 * Deletes the jobs, runs and deliveries of deleted lanes and their idempotency keys, then the lanes. Schedules are deleted with their
 * queue. A schedule that was created while its workspace was being deleted still exists, and must create no more jobs. A pass ends with the
 * first lane that has more than a portion, so that a stopping node does not wait for all of it.
 *
 * @param onWoken called with the lanes of runs that waited for a deleted one
 * @param emit reports each lane that fails
 * @param failed the lanes that failed in earlier passes: they come last, in turns
 * @returns 0 when there may be more to do, in milliseconds
 * @throws the first failure, when only lanes are left that fail; UNAVAILABLE when the database is too slow for several
 */
export async function sweepDeletedLanesAcrossWorkspaces(
  db: Transactional,
  onWoken: (lanes: LaneKey[]) => void,
  emit: EmitEvent = () => {},
  failed = new Set<LaneId>(),
): Promise<number | undefined> {
  const { others, again } = await findInTurns(failed, MAX_LANES, (which, limit) => findDeletedLanesAcrossWorkspaces(db, which, limit));
  const tries = new LaneTries<LaneKey>(failed, (lane, error) => emit("lane_sweep_failed", { ...lane, error }));
  for (const lane of [...others, ...again]) if (await tries.try(lane, () => sweepLane(db, lane, onWoken))) return 0;
  if (tries.failures.length > 0) throw tries.failures[0];
  return undefined;
}

/** Returns whether there may be more to delete. */
async function sweepLane(db: Transactional, lane: LaneKey, onWoken: (lanes: LaneKey[]) => void): Promise<boolean> {
  await removeSchedulesOf(db, lane);
  const hasMore = (await sweepLaneJobs(db, lane)) || (await sweepLaneRuns(db, lane, onWoken)) || (await sweepLaneDeliveries(db, lane));
  if (!hasMore) await removeEmptyLane(db, lane);
  return hasMore;
}
