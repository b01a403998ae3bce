import { journalTooLargeError, type RunError } from "@tidemill/contract";
import type { ClaimOutcome, Deliverer, EnqueuedLane, JobKind } from "#engine";
import { removeUnrecorded } from "#jobs";
import { type Db, momentMs, type RunId, type Timestamp, type UuidSource } from "#kernel";
import type { Waker } from "#lanes";
import { beginCalls } from "../calls/index.ts";
import { parentJobOf } from "../runs/parent.ts";
import { deleteFailuresAcrossWorkspaces, type StepsToRepeat } from "../runs/retry-store.ts";
import type { RunKey } from "../runs/run.ts";
import { beginWaits } from "../steps/begin-waits.ts";
import { storeProgressAcrossWorkspaces } from "../steps/progress.ts";
import { findStoredOutcomes, recordReportedAcrossWorkspaces } from "../steps/reported-store.ts";
import { insertStepsAcrossWorkspaces, type StepsToInsert } from "../steps/step-store.ts";
import { lockRunsAcrossWorkspaces } from "../steps/wait-store.ts";
import { undoTheRest } from "../undo/pass-to-undo.ts";
import { completeInOneStatement } from "./complete-in-one-statement.ts";
import { endRunsAcrossWorkspaces } from "./end-run.ts";
import { type RunEnd, type RunFailure, recordFailuresAcrossWorkspaces } from "./end-store.ts";
import { closeExecutionsAcrossWorkspaces } from "./execution-store.ts";
import { progressOf, type RunReport, readReport } from "./run-report.ts";
import { suspendRuns } from "./suspend.ts";
import { parkUnfitAcrossWorkspaces } from "./unfit.ts";
import type { UnfitRun } from "./unfit-store.ts";

/** An execution that ended, with what it reported. */
interface Ended {
  readonly run: RunKey;
  readonly outcome: ClaimOutcome;
  readonly report: RunReport | null;
}

/** The kind of the jobs that execute runs. The job of a run has the run's id, and its settle moves the run. */
export const runKind = (ids: UuidSource, deliverer: Deliverer, waker: () => Pick<Waker, "wakeAt">): JobKind => ({
  name: "run",
  recorded: false,
  sparesUnbegun: true,
  related: parentJobOf,
  deliverer,
  inOneStatement: completeInOneStatement,
  findStored: findStoredOutcomes,
  async settled(tx, outcomes, enqueued) {
    const ended = outcomes.map(readOutcome);
    // Reports of steps lock runs in this order, too, but not their jobs.
    if (ended.length > 1) {
      await lockRunsAcrossWorkspaces(
        tx,
        ended.map(({ run }) => run),
      );
    }
    const payloadTooLarge = await storeSteps(tx, ids, ended, enqueued);
    // After the steps, so that readers of a run's events see it in this order.
    const progress = ended.flatMap(progressOf);
    if (progress.length > 0) await storeProgressAcrossWorkspaces(tx, progress);
    const ends = ended.flatMap((one) => (payloadTooLarge.has(one.run.id) ? tooLargeEnd(one) : endOf(one)));
    if (ends.length > 0) await end(tx, ids, ends, enqueued);
    const goOn = ended.filter(({ run }) => !payloadTooLarge.has(run.id));
    const failures = goOn.flatMap(failureOf);
    if (failures.length > 0) await recordFailuresAcrossWorkspaces(tx, failures);
    const repeated = goOn.flatMap(stepsToRepeat);
    if (repeated.length > 0) await deleteFailuresAcrossWorkspaces(tx, repeated);
    const unfit = goOn.flatMap(unfitOf);
    if (unfit.length > 0) wake(waker(), await parkUnfitAcrossWorkspaces(tx, unfit));
    const unfinished = goOn.filter(({ outcome, report }) => outcome.verdict.kind === "release" && !report);
    if (unfinished.length > 0) {
      await closeExecutionsAcrossWorkspaces(
        tx,
        unfinished.map(({ run }) => run),
      );
    }
    const suspended = goOn.filter(({ outcome, report }) => outcome.verdict.kind === "release" && report && !report.unfit);
    if (suspended.length === 0) return;
    const { due, failed } = await suspendRuns(
      tx,
      suspended.map(({ run, outcome: { claim } }) => ({ run, claim })),
    );
    wake(waker(), due);
    if (failed.length > 0) await end(tx, ids, failed, enqueued);
  },
});

async function end(tx: Db, ids: UuidSource, ends: readonly RunEnd[], enqueued: (lane: EnqueuedLane) => void): Promise<void> {
  const ended = await endRunsAcrossWorkspaces(tx, ids, ends);
  for (const lane of ended.enqueued) enqueued(lane);
  const before = ends.filter(({ id }) => !ended.ids.has(id));
  if (before.length > 0) for (const lane of await undoTheRest(tx, before)) enqueued(lane);
  const reported = before.flatMap(({ isReported, executions, ...run }) => (isReported ? [{ ...run, execution: executions }] : []));
  if (reported.length > 0) await recordReportedAcrossWorkspaces(tx, reported);
}

function readOutcome(outcome: ClaimOutcome): Ended {
  const { claim, verdict } = outcome;
  const run = { workspaceId: claim.workspaceId, id: claim.id as string as RunId };
  return { run, outcome, report: readReport(verdict) };
}

/** Stores what executions reported with their end. Returns the runs whose journal has no room for it: these no longer resume. */
async function storeSteps(
  tx: Db,
  ids: UuidSource,
  ended: readonly Ended[],
  enqueued: (lane: EnqueuedLane) => void,
): Promise<ReadonlySet<RunId>> {
  const reports = ended.flatMap(({ run, report }): StepsToInsert[] => {
    const { steps = [] } = report ?? {};
    return steps.length > 0 ? [{ ...run, claim: null, steps }] : [];
  });
  if (reports.length === 0) return new Set();
  const begun = await beginCalls(tx, ids, await beginWaits(tx, reports));
  for (const lane of begun.lanes) enqueued({ ...lane, served: "push" });
  const stored = await insertStepsAcrossWorkspaces(tx, begun.reports);
  const payloadTooLarge = new Set([...stored].flatMap(([id, steps]) => (steps === null ? [id] : [])));
  for (const { run, outcome } of ended) {
    const goesOn = outcome.verdict.kind !== "complete" && outcome.verdict.kind !== "fail";
    if (goesOn && payloadTooLarge.has(run.id)) await removeUnrecorded(tx, outcome.claim);
  }
  return payloadTooLarge;
}

/** A run whose last steps have no room has failed, whatever its program returned. A run that has failed anyway keeps its own error. */
function tooLargeEnd(one: Ended): RunEnd[] {
  if (one.outcome.verdict.kind === "fail") return endOf(one);
  return [
    {
      ...one.run,
      status: "failed",
      error: JSON.stringify(journalTooLargeError(one.report?.steps ?? [])),
      executions: one.outcome.claim.attempt,
      isReported: true,
    },
  ];
}

function endOf({ run, outcome: { claim, verdict }, report }: Ended): RunEnd[] {
  const last = { executions: claim.attempt, isReported: report !== null };
  if (verdict.kind === "complete") return [{ ...run, status: "completed", result: verdict.result ?? "null", ...last }];
  if (verdict.kind === "fail") {
    const { retrySteps = null } = report ?? {};
    return [{ ...run, status: "failed", error: errorOf(report, verdict.error), retrySteps, ...last }];
  }
  return [];
}

const failureOf = ({ run, outcome: { claim, verdict }, report }: Ended): RunFailure[] =>
  verdict.kind === "retry" || verdict.kind === "defer"
    ? [
        {
          ...run,
          laneId: claim.laneId,
          error: errorOf(report, verdict.error),
          usesAttempt: verdict.kind === "retry",
          reported: report && claim.attempt,
        },
      ]
    : [];

const stepsToRepeat = ({ run, outcome: { verdict }, report }: Ended): StepsToRepeat[] => {
  const { retrySteps = [], repeats = false } = report ?? {};
  return verdict.kind === "retry" && repeats && retrySteps.length > 0 ? [{ ...run, keys: retrySteps }] : [];
};

const unfitOf = ({ run, outcome: { claim, verdict }, report }: Ended): UnfitRun[] => {
  if (verdict.kind !== "release" || !report?.unfit) return [];
  const { step, reason, version } = report.unfit;
  return [{ ...run, laneId: claim.laneId, execution: claim.attempt, step, reason, version: version ?? "" }];
};

/** The error of a run: what the program reported, or what happened to its execution. */
const errorOf = (report: RunReport | null, { code, message }: { readonly code: string; readonly message: string }): string =>
  JSON.stringify(report?.error ?? ({ name: code, message } satisfies RunError));

function wake(waker: Pick<Waker, "wakeAt">, times: readonly Timestamp[]): void {
  for (const at of times) waker.wakeAt(momentMs(at));
}
