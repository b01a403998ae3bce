import type { Db } from "#kernel";
import { sweepIdempotencyKeysAcrossWorkspaces as sweepSome } from "./store/idempotency-keys.ts";

/** Rows of one statement. */
const CHUNK = 1_000;

/**
 * Forgets idempotency keys whose job's record is gone. Each key is looked at when its record may have expired, and again when the
 * record that is still there may have: once or twice in all, whatever the number of keys.
 */
export async function sweepIdempotencyKeysAcrossWorkspaces(db: Db): Promise<void> {
  while ((await sweepSome(db, CHUNK)) === CHUNK);
}
