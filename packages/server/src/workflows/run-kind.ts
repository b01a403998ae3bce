import type { RunError } from "@tidemill/contract";
import type { JobKind, Outcome } from "#engine";
import { setDue } from "#jobs";
import { type Db, momentMs, type RunId } from "#kernel";
import type { Waker } from "#lanes";
import { endRun, findNextWake, insertSteps, recordFailure, type StepToInsert, setStatus } from "./execution-store.ts";
import type { RunKey } from "./run.ts";

/** What a program reported of an execution that it ended, as the settle carries it. */
type RunReport =
  | { readonly outcome: "suspended"; readonly steps: readonly StepToInsert[] }
  | { readonly outcome: "failed"; readonly error: RunError };

/** The kind of the jobs that execute runs. The job of a run has the run's id, and its settle moves the run. */
export const runKind = (waker: () => Pick<Waker, "wakeAt">): JobKind => ({
  name: "run",
  recorded: false,
  // Nodes do not execute runs: their lanes are served by workers.
  deliverer: { start: () => ({ result: Promise.resolve({ kind: "withdrawn" }), abort: () => {} }), sweep: () => {} },
  async settled(tx, outcomes) {
    for (const outcome of outcomes) await moveRun(tx, outcome, waker());
  },
});

async function moveRun(tx: Db, { claim, verdict }: Outcome, waker: Pick<Waker, "wakeAt">): Promise<void> {
  const run: RunKey = { workspaceId: claim.workspaceId, id: claim.id as string as RunId };
  switch (verdict.kind) {
    case "complete":
      await endRun(tx, run, { status: "completed", result: verdict.result ?? "null" });
      return;
    case "fail":
      await endRun(tx, run, { status: "failed", error: errorOf(verdict) });
      return;
    case "retry":
      await recordFailure(tx, run, errorOf(verdict), verdict.waitMs);
      return;
    case "giveBack": {
      if (verdict.report === undefined) return;
      const report = JSON.parse(verdict.report) as Extract<RunReport, { outcome: "suspended" }>;
      if (report.steps.length > 0) await insertSteps(tx, run, report.steps);
      const at = await findNextWake(tx, run);
      await setStatus(tx, run, at === null ? "running" : "sleeping");
      await setDue(tx, claim, at);
      if (at !== null) waker.wakeAt(momentMs(at));
      return;
    }
    default:
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
