import type { RunError } from "@tidemill/contract";
import type { ClaimOutcome, Deliverer, JobKind } from "#engine";
import type { RunId } from "#kernel";
import { progressOf, type RunReport, readReport } from "../executions/run-report.ts";
import type { RunKey } from "../runs/run.ts";
import { storeProgressAcrossWorkspaces } from "../steps/progress.ts";
import { findStoredOutcomes, recordReportedAcrossWorkspaces } from "../steps/reported-store.ts";
import { areUndos, insertStepsAcrossWorkspaces } from "../steps/step-store.ts";
import { recordLeftUndosAcrossWorkspaces } from "./store.ts";

/** An execution that undoes, and that ended. */
interface Ended {
  readonly run: RunKey;
  readonly execution: number;
  readonly verdict: ClaimOutcome["verdict"];
  readonly report: RunReport | null;
}

/** The kind of the jobs that undo the steps of runs that have ended. The outcome of such a job does not change the status of the run. */
export const undoKind = (deliverer: Deliverer): JobKind => ({
  name: "undo",
  recorded: false,
  sparesUnbegun: true,
  deliverer,
  findStored: findStoredOutcomes,
  async settled(tx, outcomes) {
    const ended = outcomes.map(
      ({ claim, verdict }): Ended => ({
        run: { workspaceId: claim.workspaceId, id: claim.id as string as RunId },
        execution: claim.attempt,
        verdict,
        report: readReport(verdict),
      }),
    );
    const reports = ended.flatMap(({ run, report }) => {
      const { steps = [] } = report ?? {};
      return steps.length > 0 && areUndos(steps) ? [{ ...run, claim: null, steps }] : [];
    });
    if (reports.length > 0) await insertStepsAcrossWorkspaces(tx, reports);
    const reported = ended.flatMap(({ run, execution, report }) => (report ? [{ ...run, execution }] : []));
    if (reported.length > 0) await recordReportedAcrossWorkspaces(tx, reported);
    const progress = ended.flatMap(progressOf);
    if (progress.length > 0) await storeProgressAcrossWorkspaces(tx, progress);
    // An execution reports the outcome of each undo. What it has left out when it ends for good could not be undone.
    const left = ended.flatMap(({ run, verdict }) => {
      const error = errorOf(verdict);
      return error ? [{ ...run, error: JSON.stringify(error) }] : [];
    });
    if (left.length > 0) await recordLeftUndosAcrossWorkspaces(tx, left);
  },
});

/** Null: another execution follows. */
function errorOf(verdict: ClaimOutcome["verdict"]): RunError | null {
  if (verdict.kind === "fail") return { name: verdict.error.code, message: verdict.error.message };
  return verdict.kind === "complete" ? { name: "UndoError", message: "The worker did not undo it." } : null;
}
