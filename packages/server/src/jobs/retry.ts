import { type Db, invalidState, type Transactional } from "#kernel";
import { auditOverruled, auditRetried, type JobActor } from "./audit.ts";
import { JOB_MOVES, type JobKey, type JobRow, jobNotFound } from "./job.ts";
import { findJob, restoreJob, retryFailedJob } from "./store/jobs.ts";

/**
 * Moves a failed, cancelled or rejected job back to `waiting`, with fresh attempts. A job that was cancelled before it was approved returns
 * to `pending_approval`. Retries of failed and of rejected jobs are audited. Source: contract §4, §5.
 *
 * @throws NOT_FOUND, or INVALID_STATE
 */
export async function retryJob(database: Transactional, actor: JobActor, key: JobKey): Promise<JobRow> {
  const moved = await database.transaction(async (tx) => (await retryFailed(tx, actor, key)) ?? (await restore(tx, actor, key)));
  if (moved) return moved;
  const job = await findJob(database, key);
  if (!job) throw jobNotFound(key.id, actor.queue);
  throw invalidState(job.state, JOB_MOVES.retry.from);
}

async function retryFailed(tx: Db, actor: JobActor, key: JobKey): Promise<JobRow | null> {
  const job = await retryFailedJob(tx, key);
  if (job) await auditRetried(tx, actor, key);
  return job;
}

async function restore(tx: Db, actor: JobActor, key: JobKey): Promise<JobRow | null> {
  const job = (await restoreJob(tx, key, "waiting")) ?? (await restoreJob(tx, key, "pending_approval"));
  if (job?.was === "rejected") await auditOverruled(tx, actor, key, job);
  return job;
}
