import type { ClaimOutcome, Deliverer, JobKind } from "#engine";
import { lockJobsAcrossWorkspaces, removeUnrecorded, setDueAcrossWorkspaces } from "#jobs";
import type { Db, JobId } from "#kernel";
import { type CallOfRun, type CallOutcome, findLiveCallsAcrossWorkspaces, storeCallOutcomesAcrossWorkspaces } from "./store.ts";

/**
 * The kind of the jobs that make HTTP calls for steps of runs. When a call has its outcome, its step gets it, and its run resumes. The jobs
 * of the runs are locked after those of the calls, in their order.
 */
export const callKind = (deliverer: Deliverer): JobKind => ({
  name: "http",
  recorded: false,
  deliverer,
  locksOthers: true,
  async settled(tx, outcomes, enqueued) {
    const live = new Map(
      (
        await findLiveCallsAcrossWorkspaces(
          tx,
          outcomes.map(({ claim }) => claim),
        )
      ).map((call) => [call.id, call]),
    );
    for (const { claim } of outcomes) if (!live.has(claim.id)) await removeUnrecorded(tx, claim);
    const callOutcomes = outcomes.flatMap((outcome) => (live.has(outcome.claim.id) ? callOutcomeOf(outcome) : []));
    if (callOutcomes.length === 0) return;
    await lockRuns(
      tx,
      callOutcomes.map(({ id }) => live.get(id)).filter((call) => call !== undefined),
    );
    for (const { workspaceId, laneId, runId } of await storeCallOutcomesAcrossWorkspaces(tx, callOutcomes)) {
      await setDueAcrossWorkspaces(tx, [{ workspaceId, laneId, id: runId as string as JobId, at: null }]);
      enqueued({ workspaceId, laneId });
    }
  },
});

const lockRuns = (tx: Db, calls: readonly CallOfRun[]): Promise<unknown> =>
  lockJobsAcrossWorkspaces(
    tx,
    calls.map(({ workspaceId, laneId, runId }) => ({ workspaceId, laneId, id: runId as string as JobId })),
  );

/** The outcome of a call that is not tried again. */
function callOutcomeOf({ claim: { workspaceId, id, attempt, spared }, verdict }: ClaimOutcome): CallOutcome[] {
  const common = { workspaceId, id, attempt: Math.max(1, attempt - spared) };
  if (verdict.kind === "complete") return [{ ...common, output: verdict.result ?? "null", error: null }];
  if (verdict.kind !== "fail") return [];
  const { code, message, status } = verdict.error;
  return [{ ...common, output: null, error: JSON.stringify({ name: "HttpError", message, code, status }) }];
}
