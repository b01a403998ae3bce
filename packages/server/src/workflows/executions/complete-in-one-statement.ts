import type { ClaimOutcome, SingleStatementSettle } from "#engine";
import type { RunId } from "#kernel";
import { parentJobOf } from "../runs/parent.ts";
import { isPlain } from "../steps/plain-step-store.ts";
import { completeRunsAcrossWorkspaces, type RunToComplete } from "./complete-store.ts";
import { type RunReport, readReport } from "./run-report.ts";

/** Settles completed runs whose end changes nothing else. */
export const completeInOneStatement: SingleStatementSettle = {
  accepts: ({ claim, verdict }) => {
    if (verdict.kind !== "complete" || claim.concurrencyKey !== null || parentJobOf(claim).length > 0) return false;
    const { steps = [], progress }: RunReport = readReport(verdict) ?? {};
    return progress === undefined && steps.every(isPlain);
  },
  settle: (db, outcomes) => completeRunsAcrossWorkspaces(db, outcomes.map(runOf)),
};

function runOf({ claim, verdict }: ClaimOutcome): RunToComplete {
  const { workspaceId, id } = claim;
  const result = (verdict.kind === "complete" && verdict.result) || "null";
  return { workspaceId, id: id as string as RunId, claim, result, steps: readReport(verdict)?.steps ?? [] };
}
