import type { Db } from "#kernel";
import type { LaneKey } from "#lanes";
import { deleteBatchKeys, deleteCounts, deleteFinishedJobs, deleteIdempotencyKeys, deleteLiveJobs } from "./store/sweep.ts";

/** The maximum number of rows in one statement. */
const CHUNK = 5_000;

/**
 * Deletes a portion of the live and finished jobs and the idempotency keys of a deleted lane. The last portion also deletes its counts.
 *
 * @returns whether there may be more
 */
export async function sweepLaneJobs(db: Db, lane: LaneKey): Promise<boolean> {
  const hasMore =
    (await deleteLiveJobs(db, lane, CHUNK)) ||
    (await deleteFinishedJobs(db, lane, CHUNK)) ||
    (await deleteIdempotencyKeys(db, lane, CHUNK)) === CHUNK ||
    (await deleteBatchKeys(db, lane, CHUNK)) === CHUNK;
  if (!hasMore) await deleteCounts(db, lane);
  return hasMore;
}
