import type { Explanation } from "@tidemill/contract";
import { type JobKey, jobNotFound, showJobId } from "#jobs";
import { type Db, toMoment } from "#kernel";
import { readQuota } from "#usage";
import { estimateStart } from "./estimate.ts";
import { gatesOf, type Quota } from "./gates.ts";
import { waits } from "./holds.ts";
import { type Found, findExplained } from "./store.ts";
import { summarize } from "./summary.ts";

/**
 * Why a job is not running: every gate that it has to pass, with its figures, and whether it holds the job now. All that can hold it
 * is read at one moment, as a claim of that moment reads it. Source: contract §4, explain.
 *
 * @param queue name of the job's queue
 * @throws NOT_FOUND
 */
export async function explainJob(db: Db, key: JobKey, queue: string): Promise<Explanation> {
  const found = await findExplained(db, key);
  if (!found) throw jobNotFound(key.id, queue);
  return { id: showJobId(key.id), queue, ...explain(found, await readQuota(db, key.workspaceId)) };
}

/** What is to be said of a job as one snapshot has it. */
export function explain(found: Found, quota: Quota): Omit<Explanation, "id" | "queue"> {
  const gates = gatesOf(found, quota);
  const heldBy = gates.flatMap(({ gate, holds }) => (holds ? [gate] : []));
  const startMs = estimateStart(found, heldBy);
  return {
    state: found.state,
    held_by: heldBy,
    summary: summarize(found, heldBy, startMs),
    ahead: waits(found) ? found.ahead : null,
    ahead_is_more: found.ahead_is_more,
    gates,
    estimated_start: startMs === null ? null : toMoment(startMs),
  };
}
