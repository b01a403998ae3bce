import { type Db, problem, type Transactional } from "#kernel";
import { JOB_MOVES, type JobKey, type JobRow, jobNotFound } from "./job.ts";
import { findJob, restoreJob, retryFailedJob } from "./store/jobs.ts";
import { type Hand, tellOverruled, tellRetried } from "./tell.ts";

/**
 * A job that failed, was cancelled or was rejected waits again, with fresh attempts; one that was cancelled before anybody approved it
 * waits to be decided again. That a failed one leaves the dead-letter queue, or that a rejection is overruled, is audited.
 * Source: contract §4, §5.
 *
 * @throws NOT_FOUND, or INVALID_STATE
 */
export async function retryJob(database: Transactional, hand: Hand, key: JobKey): Promise<JobRow> {
  const moved = await database.transaction(async (tx) => (await retryFailed(tx, hand, key)) ?? (await restore(tx, hand, key)));
  if (moved) return moved;
  const job = await findJob(database, key);
  if (!job) throw jobNotFound(key.id, hand.queue);
  throw problem("INVALID_STATE", { state: job.state, allowed_from: JOB_MOVES.retry.from });
}

async function retryFailed(tx: Db, hand: Hand, key: JobKey): Promise<JobRow | null> {
  const job = await retryFailedJob(tx, key);
  if (job) await tellRetried(tx, hand, key);
  return job;
}

async function restore(tx: Db, hand: Hand, key: JobKey): Promise<JobRow | null> {
  const job = (await restoreJob(tx, key, "waiting")) ?? (await restoreJob(tx, key, "pending_approval"));
  if (job?.was === "rejected") await tellOverruled(tx, hand, key, job);
  return job;
}
