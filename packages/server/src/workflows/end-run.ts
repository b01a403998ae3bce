import type { Hook } from "@tidemill/contract";
import { insertOfKind } from "#jobs";
import type { Db, JobId, UuidSource } from "#kernel";
import type { LaneKey } from "#lanes";
import { type WithdrawnCall, withdrawCalls } from "./calls/index.ts";
import { type EndedRun, markEnded, type RunEnd } from "./execution-store.ts";
import { insertHook } from "./hook-store.ts";
import { type RunKey, showRunId } from "./run.ts";

/** Which hook fires when a run ends. Source: specification, Lifecycle hooks. */
const HOOK_OF: Readonly<Record<RunEnd["status"], Hook>> = { completed: "onSuccess", failed: "onFailure", cancelled: "onCancel" };

/** What the end of a run has led to. */
export interface RunEnded {
  readonly enqueued: LaneKey | null;
  readonly withdrawn: readonly WithdrawnCall[];
}

/**
 * Ends a run that has not ended, withdraws its calls, and enqueues the job of the hook that its workflow has for this end. A run that never
 * started has no `onCancel`.
 *
 * @returns null if the run had ended; else the lane if a hook waits there, and the calls
 */
export async function endRun(tx: Db, ids: UuidSource, run: RunKey, end: RunEnd): Promise<RunEnded | null> {
  const ended = await markEnded(tx, run, end);
  if (!ended) return null;
  const withdrawn = ended.hasCalls ? await withdrawCalls(tx, run) : [];
  const hook = HOOK_OF[end.status];
  if (!ended.hooks.includes(hook) || (hook === "onCancel" && !ended.started)) return { enqueued: null, withdrawn };
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
  return { enqueued: { workspaceId, laneId }, withdrawn };
}

/** What the hook gets: of the end that it is for, since the run may be retried before it fires. */
const payloadOf = ({ id }: RunKey, hook: Hook, { attempt, error }: EndedRun, result: string): string =>
  `{"hook":"${hook}","runId":"${showRunId(id)}","attempt":${attempt},` +
  `${hook === "onSuccess" ? `"result":${result}` : `"error":${error ?? "null"}`}}`;
