import type { Db } from "#kernel";
import type { LaneKey } from "#lanes";
import { deleteBatchKeys, deleteCounts, deleteFinishedJobs, deleteIdempotencyKeys, deleteLiveJobs } from "./store/sweep.ts";

/** Rows in one statement. */
const CHUNK = 5_000;

/** Deletes the live and finished jobs, the idempotency keys and the counts of a deleted lane. */
export async function sweepLaneJobs(db: Db, lane: LaneKey): Promise<void> {
  while (await deleteLiveJobs(db, lane, CHUNK));
  while (await deleteFinishedJobs(db, lane, CHUNK));
  while ((await deleteIdempotencyKeys(db, lane, CHUNK)) === CHUNK);
  while ((await deleteBatchKeys(db, lane, CHUNK)) === CHUNK);
  await deleteCounts(db, lane);
}
