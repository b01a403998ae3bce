import { findHeldAmong } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { KnownWorker } from "./known-worker.ts";
import { readWorkId } from "./work-id.ts";

/**
 * The jobs and runs that were cancelled while the worker held them. One response names each of them. A job that was retried and taken again
 * is left out: its attempt under way is not cancelled.
 */
export async function takeCancelled(db: Db, worker: KnownWorker): Promise<string[]> {
  const { workspaceId, leaseId, cancelled } = worker;
  const ids = [...cancelled];
  cancelled.clear();
  if (ids.length === 0) return ids;
  const jobs = new Map(ids.map((id) => [id, readWorkId(id)]));
  const known = [...jobs.values()].filter((job) => job !== null);
  try {
    const held = new Set(await findHeldAmong(db, workspaceId, leaseId, known));
    return ids.filter((id) => !held.has(jobs.get(id) as JobId));
  } catch (error) {
    leaveCancelled(worker, ids);
    throw error;
  }
}

/** The same for several workers. If one fails, the next response also names the jobs of the others. */
export async function takeCancelledOf(db: Db, workers: ReadonlySet<KnownWorker>): Promise<string[][]> {
  const all = [...workers];
  const taken = await Promise.allSettled(all.map((worker) => takeCancelled(db, worker)));
  const failed = taken.find((one) => one.status === "rejected");
  if (!failed) return taken.map((one) => (one.status === "fulfilled" ? one.value : []));
  for (const [at, one] of taken.entries()) if (one.status === "fulfilled") leaveCancelled(all[at] as KnownWorker, one.value);
  throw failed.reason;
}

/** Leaves these jobs for the next response to name. */
export function leaveCancelled({ cancelled }: KnownWorker, ids: readonly string[]): void {
  for (const id of ids) cancelled.add(id);
}
