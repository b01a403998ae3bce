import { problem, type Transactional } from "#kernel";
import { JOB_MOVES, type JobKey, type JobRow } from "./job.ts";
import { findJob, retryFailedJob, retryFinishedJob } from "./store.ts";
import { type Hand, tellRetried } from "./tell.ts";

/**
 * A job that failed, was cancelled or was rejected waits again, with fresh attempts. A failed one leaves the dead-letter queue,
 * which is audited. Source: contract §4.
 *
 * @throws NOT_FOUND, or INVALID_STATE
 */
export async function retryJob(database: Transactional, hand: Hand, key: JobKey): Promise<JobRow> {
  const failed = await database.transaction(async (tx) => {
    const job = await retryFailedJob(tx, key);
    if (job) await tellRetried(tx, hand, key);
    return job;
  });
  const moved = failed ?? (await retryFinishedJob(database, key));
  if (moved) return moved;
  const job = await findJob(database, key);
  if (!job) throw problem("NOT_FOUND");
  throw problem("INVALID_STATE", { state: job.state, allowed_from: JOB_MOVES.retry.from });
}
