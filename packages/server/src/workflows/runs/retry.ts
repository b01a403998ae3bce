import type { Actor, AuditLog } from "#audit";
import { insertInternalJobs } from "#jobs";
import { type Db, type JobId, problem, type Transactional } from "#kernel";
import type { LaneKey } from "#lanes";
import { releaseRun } from "../executions/unfit.ts";
import { forgetUnfit } from "../executions/unfit-store.ts";
import { hasUndone } from "../undo/store.ts";
import { runPayload } from "./parent.ts";
import { deleteStepsToRepeat, reviveRun } from "./retry-store.ts";
import { type RunKey, type RunWithData, runNotFound, showRunId } from "./run.ts";
import { findRun } from "./run-store.ts";

/**
 * Resumes a failed or cancelled run from its journal, with fresh attempts. Steps that completed are kept, and sleeps continue. The failure
 * that ended the run is deleted, with the steps that the program requested after it. Failures that the program caught earlier are kept,
 * because what it did next is in the journal. A run that waits for other code is tried again with any code.
 *
 * @throws NOT_FOUND; INVALID_STATE for a run that is neither failed nor cancelled, nor waits for code, or whose steps are undone
 */
export const retryRun = (
  database: Transactional,
  audit: AuditLog,
  { actorId }: Pick<Actor, "actorId">,
  key: RunKey,
): Promise<{ run: RunWithData; lane: LaneKey }> =>
  database.transaction(async (tx) => {
    const { workspaceId, id } = key;
    const found = await findRun(tx, key);
    if (!found) throw runNotFound(showRunId(id));
    const lane = { workspaceId, laneId: found.lane_id };
    const goesOn = found.status === "waiting" ? await releaseRun(tx, lane, id) : await revive(tx, key, lane, found);
    if (!goesOn) {
      // Another retry may have come first.
      const { status: state } = (await findRun(tx, key)) ?? found;
      const message = `The run ${showRunId(id)} is ${state}. A run is retried once it has failed, was cancelled or waits for code.`;
      throw problem("INVALID_STATE", { state, allowed_from: ["failed", "cancelled"] }, { message });
    }
    await forgetUnfit(tx, key);
    const resource = { resourceType: "run", resourceId: showRunId(id) } as const;
    await audit.record(tx, { workspaceId, actorId, eventType: "run.retried", ...resource, input: null, output: null });
    const run = await findRun(tx, key);
    if (!run) throw runNotFound(showRunId(id));
    return { run, lane };
  });

const undone = (state: string) =>
  problem("INVALID_STATE", { state }, { message: "The steps of the run are undone, so that it cannot go on. Start another one." });

/**
 * Enqueues the next execution of a run that has failed or was cancelled. Returns false if it is neither.
 *
 * @throws INVALID_STATE for a run whose steps are undone
 */
async function revive(tx: Db, key: RunKey, lane: LaneKey, { status, version }: RunWithData): Promise<boolean> {
  const revived = await reviveRun(tx, key);
  if (!revived) return false;
  if (await hasUndone(tx, key)) throw undone(status);
  await deleteStepsToRepeat(tx, key, revived);
  const { attempts, executions: spared, backoff_delay_ms: backoffDelayMs } = revived;
  const id = key.id as string as JobId;
  const payload = runPayload(revived.parent ?? undefined);
  const job = { ...lane, id, kind: "run", payload, attempts, spared, backoffDelayMs, version };
  await insertInternalJobs(tx, [{ ...job, runAtMs: null, concurrencyKey: null }]);
  return true;
}
