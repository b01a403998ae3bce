import type { Actor, AuditLog } from "#audit";
import { hasJob, lockJobsAcrossWorkspaces, removeUnrecorded } from "#jobs";
import { type JobId, problem, type Transactional, type UuidSource, unavailable } from "#kernel";
import type { LaneKey } from "#lanes";
import type { WithdrawnCall } from "../calls/index.ts";
import { endRunsAcrossWorkspaces } from "../executions/end-run.ts";
import { lockRunsAcrossWorkspaces } from "../steps/wait-store.ts";
import { passToUndo } from "../undo/pass-to-undo.ts";
import { findAwaitingParents } from "./parent.ts";
import { type RunKey, type RunWithData, runNotFound, showRunId } from "./run.ts";
import { findRun } from "./run-store.ts";

interface CancelContext {
  readonly audit: AuditLog;
  readonly ids: UuidSource;
}

/** A run that was cancelled, the lease of the worker that was executing it, and its calls. */
export interface CancelledRun {
  readonly run: RunWithData;
  readonly leaseId: number | null;
  /** Lanes in which a hook waits, or a run that waited for this one. */
  readonly enqueued: readonly LaneKey[];
  readonly withdrawn: readonly WithdrawnCall[];
}

/** The run had no job at first, and has one now: it was retried in the meantime. */
class RetriedMeanwhileError extends Error {}

/** How many retries of the run a cancel may meet. */
const MAX_TRIES = 10;

/**
 * Cancels a run that has not ended. No execution of it begins afterwards (I4). When a cancel and the end of a run race, one of them wins.
 *
 * @throws NOT_FOUND; INVALID_STATE for a run that has ended; UNAVAILABLE for one that is retried again and again
 */
export async function cancelRun(
  database: Transactional,
  context: CancelContext,
  actor: Pick<Actor, "actorId">,
  key: RunKey,
): Promise<CancelledRun> {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    try {
      return await cancelOnce(database, context, actor, key);
    } catch (error) {
      if (!(error instanceof RetriedMeanwhileError)) throw error;
    }
  }
  throw unavailable("The run is being retried. Try again later.");
}

const cancelOnce = (
  database: Transactional,
  { audit, ids }: CancelContext,
  { actorId }: Pick<Actor, "actorId">,
  key: RunKey,
): Promise<CancelledRun> =>
  database.transaction(async (tx) => {
    const found = await findRun(tx, key);
    if (!found) throw runNotFound(showRunId(key.id));
    // The jobs before the run, in the order in which a settle locks them.
    const jobKey = { workspaceId: key.workspaceId, laneId: found.lane_id, id: key.id as string as JobId };
    await lockJobsAcrossWorkspaces(tx, [jobKey, ...(found.parent_run_id !== null ? await findAwaitingParents(tx, [key]) : [])]);
    const passed = await passToUndo(tx, key, jobKey);
    const job = passed ? null : await removeUnrecorded(tx, jobKey);
    if (!passed && !job) {
      await lockRunsAcrossWorkspaces(tx, [key]);
      if (await hasJob(tx, jobKey)) throw new RetriedMeanwhileError();
    }
    const executions = (passed ?? job)?.attempt ?? 0;
    const {
      ids: cancelled,
      enqueued,
      withdrawn,
    } = await endRunsAcrossWorkspaces(tx, ids, [{ ...key, status: "cancelled", executions, isUndone: passed !== null }]);
    const run = await findRun(tx, key);
    if (!run) throw runNotFound(showRunId(key.id));
    if (!cancelled.has(key.id)) throw ended(run);
    await audit.record(tx, {
      workspaceId: key.workspaceId,
      actorId,
      eventType: "run.cancelled",
      resourceType: "run",
      resourceId: showRunId(key.id),
      input: null,
      output: null,
    });
    return { run, leaseId: job?.lease_id ?? null, enqueued, withdrawn };
  });

const ended = ({ id, status }: Pick<RunWithData, "id" | "status">) =>
  problem(
    "INVALID_STATE",
    { state: status, allowed_from: ["pending", "running", "sleeping", "waiting"] },
    { message: `The run ${showRunId(id)} has ended: it is ${status}.` },
  );
