import type { Explanation, JobShare } from "@tidemill/contract";
import { type JobKey, jobNotFound, showJobId } from "#jobs";
import { type Db, toMoment } from "#kernel";
import { readQuota } from "#usage";
import { estimateStart } from "./estimate.ts";
import { gatesOf, type Quota } from "./gates.ts";
import { waits } from "./holds.ts";
import { type ExplainedJob, findExplained } from "./store.ts";
import { summarize } from "./summary.ts";

/**
 * Explains why a job is not running: every gate that it has to pass, with its figures, and whether the gate holds the job now. Everything
 * is read in one snapshot, as a claim would read it. Source: contract §4, explain.
 *
 * @param queue name of the job's queue
 * @param sharesUsedUp the resources of which the workspace uses its whole share on this node; a job needs some of each to start. Null: no
 *   node explains it
 * @throws NOT_FOUND
 */
export async function explainJob(
  db: Db,
  key: JobKey,
  queue: string,
  sharesUsedUp: readonly JobShare[] | null = null,
): Promise<Explanation> {
  const job = await findExplained(db, key);
  if (!job) throw jobNotFound(key.id, queue);
  return { id: showJobId(key.id), queue, ...explain({ ...job, shares_used_up: sharesUsedUp }, await readQuota(db, key.workspaceId)) };
}

/** Explains a snapshot of a job. */
export function explain(job: ExplainedJob, quota: Quota): Omit<Explanation, "id" | "queue"> {
  const gates = gatesOf(job, quota);
  const heldBy = gates.flatMap(({ gate, holds }) => (holds ? [gate] : []));
  const startMs = estimateStart(job, heldBy);
  return {
    state: job.state,
    held_by: heldBy,
    summary: summarize(job, heldBy, startMs),
    ahead: waits(job) ? job.ahead : null,
    ahead_is_more: job.ahead_is_more,
    gates,
    estimated_start: startMs === null ? null : toMoment(startMs),
  };
}
