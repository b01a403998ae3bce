import type { Hook } from "@tidemill/contract";
import { insertOfKind } from "#jobs";
import type { Db, JobId, UuidSource } from "#kernel";
import type { LaneKey } from "#lanes";
import { type EndedRun, markEnded, type RunEnd } from "./execution-store.ts";
import { insertHook } from "./hook-store.ts";
import { type RunKey, showRunId } from "./run.ts";
import { enqueueUndo } from "./undo/enqueue-undo.ts";
import { findUndo } from "./undo/store.ts";

/** Which hook fires when a run ends. Source: specification, Lifecycle hooks. */
const HOOK_OF: Readonly<Record<RunEnd["status"], Hook>> = { completed: "onSuccess", failed: "onFailure", cancelled: "onCancel" };

/**
 * Ends a run that has not ended, and enqueues the job of the hook that its workflow has for this end, and one that undoes its steps if that
 * is left to do. A run that never started has no `onCancel`.
 *
 * @returns null if the run had ended; else the lane if a hook or an undo waits there
 */
export async function endRun(tx: Db, ids: UuidSource, run: RunKey, end: RunEnd): Promise<{ enqueued: LaneKey | null } | null> {
  const undo = end.status === "completed" ? null : await findUndo(tx, run);
  const ended = await markEnded(tx, run, end.status === "failed" && undo?.error ? { ...end, error: undo.error } : end);
  if (!ended) return null;
  if (undo?.isNeeded) await enqueueUndo(tx, run, ended.laneId, end.executions);
  const isHooked = await enqueueHook(tx, ids, run, end, ended);
  return { enqueued: isHooked || undo?.isNeeded ? { workspaceId: run.workspaceId, laneId: ended.laneId } : null };
}

/** Returns whether there is a hook for this end. */
async function enqueueHook(tx: Db, ids: UuidSource, run: RunKey, end: RunEnd, ended: EndedRun): Promise<boolean> {
  const hook = HOOK_OF[end.status];
  if (!ended.hooks.includes(hook) || (hook === "onCancel" && !ended.started)) return false;
  const { workspaceId } = run;
  const { laneId } = ended;
  const id = ids.next() as JobId;
  await insertHook(tx, { workspaceId, id }, run.id, hook);
  await insertOfKind(tx, [
    {
      ...{ workspaceId, laneId, id },
      kind: "hook",
      payload: payloadOf(run, hook, ended, end.result ?? "null"),
      // It fires once, whatever comes of it.
      attempts: 1,
      backoffDelayMs: 0,
      runAtMs: null,
      concurrencyKey: null,
    },
  ]);
  return true;
}

/** What the hook gets: of the end that it is for, since the run may be retried before it fires. */
const payloadOf = ({ id }: RunKey, hook: Hook, { attempt, error }: EndedRun, result: string): string =>
  `{"hook":"${hook}","runId":"${showRunId(id)}","attempt":${attempt},` +
  `${hook === "onSuccess" ? `"result":${result}` : `"error":${error ?? "null"}`}}`;
