import { removeUnlocked } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { RunKey } from "../runs/run.ts";
import { forgetCalls } from "./store.ts";

/** A call that is no longer needed, and the lease of the node that was making it. */
export interface WithdrawnCall {
  readonly id: JobId;
  readonly leaseId: number | null;
}

/**
 * Withdraws the calls of a run that ends. The run is locked, while a settle of a call locks the call first. So a locked call is left. Its
 * settle finds that the call is not needed. If the settle has already checked that, the next attempt finds it.
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
