import type { GateName, JobShare, RunExplanation, RunGateName } from "@tidemill/contract";
import { type Db, toMoment, type WorkspaceId } from "#kernel";
import { readQuota } from "#usage";
import { findRunToExplain, type RunToExplain, showRunId } from "#workflows";
import { estimateStart } from "./estimate.ts";
import type { Quota } from "./gates.ts";
import { waits } from "./holds.ts";
import { describeRun, describeRunError, describeUndo, heldRun, type LiveRun, runGatesOf, runReasonOf, stateGateOf } from "./run-gates.ts";
import { findExplained } from "./store.ts";
import { summarizeReasons } from "./summary.ts";

/**
 * Explains why a run is not being executed: every gate that its next execution has to pass, with its figures, and whether the gate holds it
 * now (decision 78).
 *
 * @param id of the run, `run_…`
 * @param sharesUsedUp the resources of which the workspace uses its whole share on this node
 * @throws NOT_FOUND
 */
export async function explainRun(db: Db, workspaceId: WorkspaceId, id: string, sharesUsedUp: readonly JobShare[]): Promise<RunExplanation> {
  const found = await findRunToExplain(db, workspaceId, id);
  const { run, jobId, undo } = found;
  const isExecuted = run.ended_at === null || undo !== null;
  const snapshot = isExecuted ? await findExplained(db, { workspaceId, laneId: run.lane_id, id: jobId }) : null;
  const job = snapshot && { ...snapshot, shares_used_up: sharesUsedUp };
  if (run.ended_at !== null) return explainEnded(run, undo && job && describeUndo(undo, job));
  // It may have ended since.
  if (!job) return explainEnded((await findRunToExplain(db, workspaceId, id)).run, null);
  return explainLive({ ...found, job }, await readQuota(db, workspaceId));
}

const named = ({ id, workflow, status }: RunToExplain["run"]) => ({ runId: showRunId(id), workflowId: workflow, status });

/**
 * An ended run is held by its state alone.
 *
 * @param undo says why its undo has not ended. Null: nothing is left to undo
 */
const explainEnded = (run: RunToExplain["run"], undo: string | null): RunExplanation => ({
  ...named(run),
  heldBy: run.ended_at === null ? [] : ["state"],
  summary: [describeRun(run, null), ...(undo === null ? [] : [undo])].join(" "),
  ahead: null,
  aheadIsMore: false,
  gates: [stateGateOf(run, null)],
  estimatedStart: null,
});

/** Explains a snapshot of a run that has not ended. */
function explainLive(live: LiveRun, quota: Quota): RunExplanation {
  const { run, job } = live;
  const heldBy = heldRun(live);
  const startMs = estimate(live, heldBy);
  const reasons = heldBy.map((gate) => runReasonOf(gate, live));
  const failed = heldBy.includes("due") && run.error !== null ? ` The error was ${describeRunError(run.error)}` : "";
  return {
    ...named(run),
    heldBy,
    summary: waits(job) ? `${summarizeReasons(job, reasons, jobGatesOf(live, heldBy), startMs)}${failed}` : describeRun(run, job),
    ahead: waits(job) ? job.ahead : null,
    aheadIsMore: job.ahead_is_more,
    gates: runGatesOf(live, quota),
    estimatedStart: startMs === null ? null : toMoment(startMs),
  };
}

/** Nobody knows when a signal, a call or other code comes. A run that only sleeps, or is tried again, has its time. */
function estimate(live: LiveRun, heldBy: readonly RunGateName[]): number | null {
  const { run, unfit, job } = live;
  const isUnknown = (gate: RunGateName) =>
    gate === "version" || (gate === "code" && !unfit?.retry_at) || (gate === "steps" && run.status === "waiting");
  return heldBy.some(isUnknown) ? null : estimateStart(job, jobGatesOf(live, heldBy));
}

/** The gates that hold a run, by the names that they have for jobs. The job of a run that waits for steps, or is tried again, is not due. */
const jobGatesOf = ({ unfit }: LiveRun, heldBy: readonly RunGateName[]): GateName[] =>
  heldBy.flatMap((gate): GateName[] => {
    if (gate === "version" || (gate === "code" && !unfit?.retry_at)) return [];
    if (gate === "steps" || gate === "code") return ["due"];
    return gate === "concurrency" ? ["queue_concurrency"] : [gate];
  });
