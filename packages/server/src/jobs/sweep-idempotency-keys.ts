import type { Db } from "#kernel";
import { sweepIdempotencyKeysAcrossWorkspaces as sweepSome } from "./store/idempotency-keys.ts";

/** Rows in one statement. */
const CHUNK = 1_000;

/**
 * Deletes idempotency keys whose job no longer exists. A key is checked when its job may have expired, and again later if the job
 * still exists. Most keys are checked once or twice in all.
 */
export async function sweepIdempotencyKeysAcrossWorkspaces(db: Db): Promise<void> {
  while ((await sweepSome(db, CHUNK)) === CHUNK);
}
