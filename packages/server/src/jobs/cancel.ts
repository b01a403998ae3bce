import { type Db, problem } from "#kernel";
import type { JobKey, JobRow } from "./job.ts";
import { cancelJob, findJob, removeJob } from "./store.ts";

export type Cancelled = { kind: "cancelled"; job: JobRow; claimedBy: number | null } | { kind: "removed" };

/**
 * Cancels a job that has not finished, or removes one that has. A job that is settled at the same moment is settled first or
 * cancelled first, never both. Source: contract §4.
 *
 * @throws NOT_FOUND
 */
export async function cancelOrRemove(db: Db, key: JobKey): Promise<Cancelled> {
  // A retry by hand between the two statements brings the job back to life: then it is cancelled after all.
  for (;;) {
    const cancelled = await cancelJob(db, key);
    if (cancelled) return { kind: "cancelled", job: cancelled, claimedBy: cancelled.claimed_by };
    if (await removeJob(db, key)) return { kind: "removed" };
    if (!(await findJob(db, key))) throw problem("NOT_FOUND");
  }
}
