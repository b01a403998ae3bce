import type { AttemptEntry, Settled, SettleJob } from "@tidemill/contract";
import { findLogsAcrossWorkspaces } from "#jobs";
import type { Db, WorkspaceId } from "#kernel";
import { findReportedAcrossWorkspaces } from "#workflows";
import type { MayServe } from "./served-claims.ts";
import type { VerifiedClaim } from "./verify-lease-tokens.ts";

/** An outcome that a worker reported, with its answer so far. */
export interface AnsweredOutcome {
  readonly settle: SettleJob;
  readonly claim: VerifiedClaim | null;
  readonly answer: Settled;
}

/** An outcome with a valid token, whose lease is lost. */
interface LostOutcome {
  readonly settle: SettleJob;
  readonly claim: VerifiedClaim;
}

/**
 * The answers to a call that may be a repetition. An outcome whose lease is lost because an earlier call stored it for the same claim is
 * not lost: the worker did not get the answer.
 */
export async function answerRepeated(
  db: Db,
  workspaceId: WorkspaceId,
  outcomes: readonly AnsweredOutcome[],
  mayServe: MayServe,
): Promise<Settled[]> {
  const lost = outcomes.flatMap(({ settle, claim, answer }) => (claim && answer.code === "LEASE_LOST" ? [{ settle, claim }] : []));
  // A run that was released resumes as a job does.
  const isOfRun = ({ settle: { id, outcome } }: LostOutcome) => id.startsWith("run_") && outcome !== "released";
  const [ofRuns, others] = [lost.filter(isOfRun), lost.filter((one) => !isOfRun(one))];
  const stored = new Set<SettleJob>([
    ...(ofRuns.length > 0 ? await reportedOf(db, workspaceId, ofRuns, mayServe) : []),
    ...(others.length > 0 ? await loggedOf(db, workspaceId, others, mayServe) : []),
  ]);
  return outcomes.map(({ settle, answer }) => (stored.has(settle) ? { id: answer.id, ok: true, code: null, message: null } : answer));
}

const claimsOf = (workspaceId: WorkspaceId, lost: readonly LostOutcome[]) => lost.map(({ claim }) => ({ ...claim.claim, workspaceId }));

/** The outcomes that are in the logs of their jobs. */
async function loggedOf(db: Db, workspaceId: WorkspaceId, lost: readonly LostOutcome[], mayServe: MayServe): Promise<SettleJob[]> {
  const found = await findLogsAcrossWorkspaces(db, claimsOf(workspaceId, lost));
  const logs = new Map(found.map((one) => [one.id, one]));
  return lost.flatMap(({ settle, claim }) => {
    const stored = logs.get(claim.claim.id);
    return stored &&
      mayServe({ kind: settle.id.startsWith("job_") ? "queue" : "run" }, stored.queue) &&
      isSettledBy(stored.log, claim, settle.outcome)
      ? [settle]
      : [];
  });
}

/** The outcomes that are recorded in their runs. An execution has one outcome, so it need not be compared. */
async function reportedOf(db: Db, workspaceId: WorkspaceId, lost: readonly LostOutcome[], mayServe: MayServe): Promise<SettleJob[]> {
  const found = await findReportedAcrossWorkspaces(db, claimsOf(workspaceId, lost));
  return found.flatMap(({ index, workflow }) => {
    const settle = lost[index]?.settle;
    return settle && mayServe({ kind: "run" }, workflow) ? [settle] : [];
  });
}

/** Whether a log says that the worker itself ended the attempt of its claim with this outcome. */
const isSettledBy = (log: string, { worker, claim }: VerifiedClaim, outcome: SettleJob["outcome"]): boolean =>
  (JSON.parse(`[${log}]`) as AttemptEntry[]).some(
    (entry) =>
      entry.attempt === claim.attempt &&
      entry.worker === worker.name &&
      entry.outcome === outcome &&
      (entry.error === null || entry.error.code === "WORKER_FAILED"),
  );
