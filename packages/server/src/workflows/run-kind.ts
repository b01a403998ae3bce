import type { RunError } from "@tidemill/contract";
import type { Deliverer, JobKind, Outcome } from "#engine";
import { setDue } from "#jobs";
import { type Db, momentMs, type RunId, type UuidSource } from "#kernel";
import type { LaneKey, Waker } from "#lanes";
import { beginWaits } from "./begin-waits.ts";
import { endRun } from "./end-run.ts";
import { findPending, insertSteps, recordFailure, type StepToInsert, setStatus } from "./execution-store.ts";
import type { RunKey } from "./run.ts";

/** What a program reported of an execution that it ended, as the settle carries it. */
type RunReport =
  | { readonly outcome: "suspended"; readonly steps: readonly StepToInsert[] }
  | { readonly outcome: "failed"; readonly error: RunError };

/** The kind of the jobs that execute runs. The job of a run has the run's id, and its settle moves the run. */
export const runKind = (ids: UuidSource, deliverer: Deliverer, waker: () => Pick<Waker, "wakeAt">): JobKind => ({
  name: "run",
  recorded: false,
  deliverer,
  async settled(tx, outcomes, enqueued) {
    for (const outcome of outcomes) {
      const lane = await moveRun(tx, ids, outcome, waker());
      if (lane) enqueued(lane);
    }
  },
});

/** Returns the lane if a hook waits there. */
async function moveRun(tx: Db, ids: UuidSource, { claim, verdict }: Outcome, waker: Pick<Waker, "wakeAt">): Promise<LaneKey | null> {
  const run: RunKey = { workspaceId: claim.workspaceId, id: claim.id as string as RunId };
  switch (verdict.kind) {
    case "complete":
      return (
        (await endRun(tx, ids, run, { status: "completed", result: verdict.result ?? "null", executions: claim.attempt }))?.enqueued ?? null
      );
    case "fail":
      return (await endRun(tx, ids, run, { status: "failed", error: errorOf(verdict), executions: claim.attempt }))?.enqueued ?? null;
    case "retry":
      await recordFailure(tx, run, errorOf(verdict), verdict.waitMs);
      return null;
    case "giveBack": {
      if (verdict.report === undefined) return null;
      const report = JSON.parse(verdict.report) as Extract<RunReport, { outcome: "suspended" }>;
      const steps = await beginWaits(tx, run, report.steps);
      if (steps.length > 0) await insertSteps(tx, run, steps);
      const pending = await findPending(tx, run);
      // A step that was reported as waiting may have its outcome already.
      const at = steps.every((step, index) => step.status === report.steps[index]?.status) ? pending.at : null;
      await setStatus(tx, run, at === null ? "running" : pending.for_signal ? "waiting" : "sleeping");
      await setDue(tx, claim, at);
      if (at !== null) waker.wakeAt(momentMs(at));
      return null;
    }
    default:
      return null;
  }
}

/** The error of a run: what the program reported, or what happened to its execution. */
function errorOf({
  report,
  error,
}: {
  readonly report?: string;
  readonly error: { readonly code: string; readonly message: string };
}): string {
  if (report === undefined) return JSON.stringify({ name: error.code, message: error.message } satisfies RunError);
  return JSON.stringify((JSON.parse(report) as Extract<RunReport, { outcome: "failed" }>).error);
}
