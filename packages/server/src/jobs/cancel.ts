import type { Transactional } from "#kernel";
import { type JobKey, type JobRow, jobNotFound } from "./job.ts";
import { cancelJob, findJob, lockKeyOfWaiting, removeJob } from "./store/jobs.ts";
import { type Hand, tellPurged } from "./tell.ts";

export type Cancelled = { kind: "cancelled"; job: JobRow; claimedBy: number | null } | { kind: "removed" };

/**
 * Cancels a job that has not finished, or removes one that has. A job that is settled at the same moment is settled first or
 * cancelled first, never both. A failed one that is removed leaves the dead-letter queue, which is audited. Source: contract §4.
 *
 * @throws NOT_FOUND
 */
export async function cancelOrRemove(database: Transactional, hand: Hand, key: JobKey): Promise<Cancelled> {
  // Between two statements a retry by hand brings the job back to life, or one with a key begins to wait: then it is cancelled after all.
  for (;;) {
    const cancelled = await cancel(database, key);
    if (cancelled) return { kind: "cancelled", job: cancelled, claimedBy: cancelled.claimed_by };
    if (await remove(database, hand, key)) return { kind: "removed" };
    if (!(await findJob(database, key))) throw jobNotFound(key.id, hand.queue);
  }
}

const cancel = (database: Transactional, key: JobKey): ReturnType<typeof cancelJob> =>
  database.transaction(async (tx) => {
    const keyIsLocked = await lockKeyOfWaiting(tx, key);
    return cancelJob(tx, key, keyIsLocked);
  });

const remove = (database: Transactional, hand: Hand, key: JobKey): Promise<boolean> =>
  database.transaction(async (tx) => {
    const removed = await removeJob(tx, key);
    if (removed?.failed) await tellPurged(tx, hand, key);
    return removed !== null;
  });
