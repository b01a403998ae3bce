import type { Transactional } from "#kernel";
import { auditPurged, type JobActor } from "./audit.ts";
import { type JobKey, type JobRow, jobNotFound } from "./job.ts";
import { cancelJob, findJob, lockKeyOfWaiting, removeJob } from "./store/jobs.ts";

export type Cancelled = { kind: "cancelled"; job: JobRow; claimedBy: number | null } | { kind: "removed" };

/**
 * Cancels a job that has not finished, or removes a finished one. When a settle and a cancel race, one of them wins. Removing a failed
 * job takes it out of the dead-letter queue, which is audited. Source: contract §4.
 *
 * @throws NOT_FOUND
 */
export async function cancelOrRemove(database: Transactional, actor: JobActor, key: JobKey): Promise<Cancelled> {
  // Between two statements a retry can revive the job, or a job with a concurrency key can become waiting. Then the cancel is tried again.
  for (;;) {
    const cancelled = await cancel(database, key);
    if (cancelled) return { kind: "cancelled", job: cancelled, claimedBy: cancelled.claimed_by };
    if (await remove(database, actor, key)) return { kind: "removed" };
    if (!(await findJob(database, key))) throw jobNotFound(key.id, actor.queue);
  }
}

const cancel = (database: Transactional, key: JobKey): ReturnType<typeof cancelJob> =>
  database.transaction(async (tx) => {
    const keyIsLocked = await lockKeyOfWaiting(tx, key);
    return cancelJob(tx, key, keyIsLocked);
  });

const remove = (database: Transactional, actor: JobActor, key: JobKey): Promise<boolean> =>
  database.transaction(async (tx) => {
    const removed = await removeJob(tx, key);
    if (removed?.failed) await auditPurged(tx, actor, key);
    return removed !== null;
  });
