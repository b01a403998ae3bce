import { type Db, problem } from "#kernel";
import { JOB_MOVES, type JobKey, type JobRow } from "./job.ts";
import { findJob, retryFailedJob, retryFinishedJob } from "./store.ts";

/**
 * A job that failed, was cancelled or was rejected waits again, with fresh attempts. Source: contract §4.
 *
 * @throws NOT_FOUND, or INVALID_STATE
 */
export async function retryJob(db: Db, key: JobKey): Promise<JobRow> {
  const moved = (await retryFailedJob(db, key)) ?? (await retryFinishedJob(db, key));
  if (moved) return moved;
  const job = await findJob(db, key);
  if (!job) throw problem("NOT_FOUND");
  throw problem("INVALID_STATE", { state: job.state, allowed_from: JOB_MOVES.retry.from });
}
