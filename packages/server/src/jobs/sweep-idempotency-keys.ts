import type { Db } from "#kernel";
import { deleteExpiredBatchKeysAcrossWorkspaces as deleteSomeExpired } from "./store/batch-keys.ts";
import { isKeyDueAcrossWorkspaces, sweepIdempotencyKeysAcrossWorkspaces as sweepSome } from "./store/idempotency-keys.ts";

/** The maximum number of rows in one statement. */
const CHUNK = 1_000;

/**
 * Deletes idempotency keys whose job no longer exists. A key is checked when its job may have expired, and again later if the job still
 * exists. Most keys are checked only once or twice.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export async function sweepIdempotencyKeysAcrossWorkspaces(db: Db): Promise<number | undefined> {
  // Usually no key is due. The sweep itself takes long to plan, since it looks in all partitions.
  if (!(await isKeyDueAcrossWorkspaces(db))) return undefined;
  return (await sweepSome(db, CHUNK)) === CHUNK ? 0 : undefined;
}

/**
 * Deletes idempotency keys of batches that have expired.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export const sweepBatchKeysAcrossWorkspaces = async (db: Db): Promise<number | undefined> =>
  (await deleteSomeExpired(db, CHUNK)) === CHUNK ? 0 : undefined;
