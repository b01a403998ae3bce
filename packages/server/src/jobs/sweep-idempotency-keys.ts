import type { Db } from "#kernel";
import { deleteExpiredBatchKeysAcrossWorkspaces as deleteSomeExpired } from "./store/batch-keys.ts";
import { isKeyDueAcrossWorkspaces, sweepIdempotencyKeysAcrossWorkspaces as sweepSome } from "./store/idempotency-keys.ts";

/** Rows in one statement. */
const CHUNK = 1_000;

/**
 * Deletes idempotency keys whose job no longer exists. A key is checked when its job may have expired, and again later if the job
 * still exists. Most keys are checked once or twice in all.
 */
export async function sweepIdempotencyKeysAcrossWorkspaces(db: Db): Promise<void> {
  // Usually no key is due. The sweep itself takes long to plan, since it looks in all partitions.
  if (!(await isKeyDueAcrossWorkspaces(db))) return;
  while ((await sweepSome(db, CHUNK)) === CHUNK);
}

/** Deletes idempotency keys of batches that have expired. */
export async function sweepBatchKeysAcrossWorkspaces(db: Db): Promise<void> {
  while ((await deleteSomeExpired(db, CHUNK)) === CHUNK);
}
