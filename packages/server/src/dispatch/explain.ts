import type { ExplainedGate, Explanation } from "@tidemill/contract";
import { type JobKey, jobNotFound, showJobId } from "#jobs";
import { type Db, toMoment } from "#kernel";
import { readQuota } from "#usage";
import { estimateStart } from "./explain-estimate.ts";
import { gatesOf } from "./explain-gates.ts";
import { waits } from "./explain-holds.ts";
import { type Found, findExplained } from "./explain-store.ts";

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
  const gates = gatesOf(found, await readQuota(db, key.workspaceId));
  const holding = gates.filter((gate) => gate.holds);
  const heldBy = holding.map(({ gate }) => gate);
  const startMs = estimateStart(found, heldBy);
  return {
    id: showJobId(key.id),
    queue,
    state: found.state,
    held_by: heldBy,
    summary: sumUp(found, gates, holding),
    ahead: waits(found) ? found.ahead : null,
    ahead_is_more: found.ahead_is_more,
    gates,
    estimated_start: startMs === null ? null : toMoment(startMs),
  };
}

function sumUp(found: Found, [state]: readonly ExplainedGate[], holding: readonly ExplainedGate[]): string {
  const [first, ...others] = holding;
  if (state && !waits(found)) return state.message;
  if (first) return others.length === 0 ? first.message : `It is held by ${holding.map(({ gate }) => gate).join(", ")}.`;
  if (found.ahead === 0) return "Nothing holds it: it is the next to start.";
  return `Nothing holds it: it starts when there is room, after ${found.ahead_is_more ? "more than " : ""}${found.ahead} that go before it.`;
}
