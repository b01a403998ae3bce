import type { Actor, AuditLog } from "#audit";
import { lockJobsAcrossWorkspaces, setDueAcrossWorkspaces } from "#jobs";
import { type JobId, notFound, problem, type RunId, type Transactional, type WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";
import { showRunId } from "../runs/run.ts";
import { findSignal, type OwnedSignal, storePayload } from "./signal-store.ts";

/**
 * Completes a signal: the run that waits for it resumes. A payload that comes before the run waits is kept for it. The run's job is locked
 * before the signal, in the order in which a settle locks them.
 *
 * @param payload JSON text
 * @returns the run, and its lane if it is to be executed now
 * @throws NOT_FOUND for a signal that no run of the workspace has registered, or whose run has ended; INVALID_STATE for a signal that is
 *   completed
 */
export const completeSignal = (
  database: Transactional,
  audit: AuditLog,
  { workspaceId, actorId }: Actor,
  id: string,
  payload: string,
): Promise<{ runId: RunId; woken: LaneKey | null }> =>
  database.transaction(async (tx) => {
    let now = await findSignal(tx, workspaceId, id);
    let locked: RunId | null = null;
    // Another run may take the signal before the lock is held.
    while (now && now.run_id !== locked) {
      locked = now.run_id;
      await lockJobsAcrossWorkspaces(tx, [jobOf(workspaceId, now)]);
      now = await findSignal(tx, workspaceId, id);
    }
    if (!now) throw signalNotFound(id);
    const lane = { workspaceId, laneId: now.lane_id };
    if (now.has_payload) throw problem("INVALID_STATE", { state: "completed" }, { message: `The signal "${id}" is already completed.` });
    if (now.has_ended || !(await storePayload(tx, { workspaceId, id: now.run_id }, id, payload))) throw signalNotFound(id);
    if (now.is_awaited) await setDueAcrossWorkspaces(tx, [{ ...jobOf(workspaceId, now), at: null }]);
    const resource = { resourceType: "signal", resourceId: id } as const;
    const input = { runId: showRunId(now.run_id) };
    await audit.record(tx, { workspaceId, actorId, eventType: "signal.completed", ...resource, input, output: null });
    return { runId: now.run_id, woken: now.is_awaited ? lane : null };
  });

const jobOf = (workspaceId: WorkspaceId, { run_id, lane_id: laneId }: OwnedSignal) => ({
  workspaceId,
  laneId,
  id: run_id as string as JobId,
});

const signalNotFound = (id: string) => notFound({ resource: "signal", id });
