import { removeUnlockedAcrossWorkspaces } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { RunKey } from "../run.ts";
import { forgetCalls } from "./store.ts";

/** A call that is no longer needed, and the lease of the node that was making it. */
export interface WithdrawnCall {
  readonly id: JobId;
  readonly leaseId: number | null;
}

/** The statement compares each of its jobs with all of them: 10,000 took longer than a statement may. */
const MAX_JOBS = 500;

/**
 * Withdraws the calls of a run that ends. The run is locked, and a settle of a call locks the call first: so a call that is locked is left.
 * Its settle finds that it is not needed, or its next attempt if the settle looked before.
 */
export async function withdrawCalls(tx: Db, run: RunKey): Promise<WithdrawnCall[]> {
  const jobs = await forgetCalls(tx, run);
  const removed = new Map<JobId, number | null>();
  for (let at = 0; at < jobs.length; at += MAX_JOBS)
    for (const job of await removeUnlockedAcrossWorkspaces(tx, jobs.slice(at, at + MAX_JOBS))) removed.set(job.id, job.lease_id);
  return jobs.map(({ id }) => ({ id, leaseId: removed.get(id) ?? null }));
}
