import { removeUnlocked } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { RunKey } from "../run.ts";
import { forgetCalls } from "./store.ts";

/** A call that is no longer needed, and the lease of the node that was making it. */
export interface WithdrawnCall {
  readonly id: JobId;
  readonly leaseId: number | null;
}

/**
 * Withdraws the calls of a run that ends. The run is locked, and a settle of a call locks the call first: so a call that is locked is left.
 * Its settle finds that it is not needed, or its next attempt if the settle looked before.
 */
export async function withdrawCalls(tx: Db, run: RunKey): Promise<WithdrawnCall[]> {
  const jobs = await forgetCalls(tx, run);
  const [first] = jobs;
  if (!first) return [];
  const ids = jobs.map(({ id }) => id);
  // All calls of a run are in one lane.
  const removed = new Map((await removeUnlocked(tx, first, ids)).map((job) => [job.id, job.lease_id]));
  return jobs.map(({ id }) => ({ id, leaseId: removed.get(id) ?? null }));
}
