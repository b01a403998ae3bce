import type { AttemptEntry, Settled, SettleJob } from "@tidemill/contract";
import { findLogsAcrossWorkspaces } from "#jobs";
import type { Db, WorkspaceId } from "#kernel";
import type { Proven } from "./prove-claims.ts";
import type { MayServe } from "./served-claims.ts";

/** An outcome that a worker reported, with its answer so far. */
export interface AnsweredOutcome {
  readonly settle: SettleJob;
  readonly claim: Proven | null;
  readonly answer: Settled;
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
  const lost = outcomes.flatMap(({ claim, answer }) => (claim && answer.code === "LEASE_LOST" ? [{ ...claim.claim, workspaceId }] : []));
  const found = lost.length > 0 ? await findLogsAcrossWorkspaces(db, lost) : [];
  const logs = new Map(found.map((one) => [one.id, one]));
  return outcomes.map(({ settle, claim, answer }) => {
    const stored = claim && answer.code === "LEASE_LOST" ? logs.get(claim.claim.id) : undefined;
    const isStored = claim && stored && mayServe({ kind: "queue" }, stored.queue) && isSettledBy(stored.log, claim, settle.outcome);
    return isStored ? { id: answer.id, ok: true, code: null, message: null } : answer;
  });
}

/** Whether a log says that the worker itself ended the attempt of its claim with this outcome. */
const isSettledBy = (log: string, { worker, claim }: Proven, outcome: SettleJob["outcome"]): boolean =>
  (JSON.parse(`[${log}]`) as AttemptEntry[]).some(
    (entry) =>
      entry.attempt === claim.attempt &&
      entry.worker === worker.name &&
      entry.outcome === outcome &&
      (entry.error === null || entry.error.code === "WORKER_FAILED"),
  );
