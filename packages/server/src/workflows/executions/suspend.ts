import type { ClaimOutcome } from "#engine";
import { judge } from "#engine";
import { countAttemptsAcrossWorkspaces, removeUnrecorded, setDueAcrossWorkspaces } from "#jobs";
import type { Db, Timestamp } from "#kernel";
import type { RunKey } from "../runs/run.ts";
import { type RunEnd, recordFailuresAcrossWorkspaces } from "./end-store.ts";
import { suspendAcrossWorkspaces } from "./suspend-store.ts";

/** An execution that was suspended. */
export interface SuspendedRun {
  readonly run: RunKey;
  readonly claim: ClaimOutcome["claim"];
}

/**
 * The error of a run whose program says that it waits, although no step does. Otherwise it would be executed again immediately, for ever.
 */
const NOTHING_AWAITED = {
  name: "NothingAwaitedError",
  message: "The execution was suspended, but no step of the run waits.",
} as const;

/**
 * Suspends runs until the first of what they wait for ends. An execution that waits for nothing has failed: it is repeated after its
 * backoff, while attempts are left.
 *
 * @returns when runs resume, and the runs that fail, for the caller to end
 */
export async function suspendRuns(tx: Db, suspended: readonly SuspendedRun[]): Promise<{ due: Timestamp[]; failed: RunEnd[] }> {
  const dueAt = await suspendAcrossWorkspaces(
    tx,
    suspended.map(({ run, claim }) => ({ ...run, execution: claim.attempt })),
  );
  const stuck = suspended.filter(({ run }) => dueAt.get(run.id) === null);
  // If a run was cancelled in the meantime, its job undoes what is left, and is due now.
  const waiting = suspended.filter(({ run }) => dueAt.get(run.id) !== null);
  if (waiting.length > 0)
    await setDueAcrossWorkspaces(
      tx,
      waiting.map(({ run, claim }) => ({ ...claim, at: dueAt.get(run.id) ?? null })),
    );
  const due = [...dueAt.values()].filter((at) => at !== null);
  if (stuck.length === 0) return { due, failed: [] };
  const failed: RunEnd[] = [];
  for (const { run, claim } of stuck) {
    const { message } = NOTHING_AWAITED;
    const verdict = judge({ kind: "workerFailed", code: "WORKER_FAILED", message, retryAfterSeconds: null, forGood: false }, claim, 0);
    const error = JSON.stringify(NOTHING_AWAITED);
    if (verdict.kind === "retry") {
      due.push(...(await countAttemptsAcrossWorkspaces(tx, [{ ...claim, waitMs: verdict.waitMs }])));
      await recordFailuresAcrossWorkspaces(tx, [{ ...run, laneId: claim.laneId, error, usesAttempt: true, reported: null }]);
    } else {
      await removeUnrecorded(tx, claim);
      failed.push({ ...run, status: "failed", error, executions: claim.attempt });
    }
  }
  return { due, failed };
}
