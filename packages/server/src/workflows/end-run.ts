import type { Hook } from "@tidemill/contract";
import { insertOfKind } from "#jobs";
import type { Db, JobId, RunId, UuidSource } from "#kernel";
import type { LaneKey } from "#lanes";
import { type EndedRun, markEndedAcrossWorkspaces, type RunEnd } from "./end-store.ts";
import { insertHooksAcrossWorkspaces } from "./hook-store.ts";
import { showRunId } from "./run.ts";

/** Which hook fires when a run ends. Source: specification, Lifecycle hooks. */
const HOOK_OF: Readonly<Record<RunEnd["status"], Hook>> = { completed: "onSuccess", failed: "onFailure", cancelled: "onCancel" };

/** A hook to fire, with the run that it is for. */
interface Firing {
  readonly id: JobId;
  readonly hook: Hook;
  readonly end: RunEnd;
  readonly ended: EndedRun;
}

/** The runs that have ended, and the lanes in which their hooks wait. */
export interface RunsEnded {
  readonly ids: ReadonlySet<RunId>;
  readonly enqueued: readonly LaneKey[];
}

/**
 * Ends those of these runs that have not ended, and enqueues the jobs of the hooks that their workflows have for these ends. A run that
 * never started has no `onCancel`.
 */
export async function endRunsAcrossWorkspaces(tx: Db, ids: UuidSource, ends: readonly RunEnd[]): Promise<RunsEnded> {
  const ended = new Map((await markEndedAcrossWorkspaces(tx, ends)).map((one) => [one.id, one]));
  const firings = ends.flatMap((end): Firing[] => {
    const one = ended.get(end.id);
    const hook = HOOK_OF[end.status];
    if (!one?.hooks.includes(hook) || (hook === "onCancel" && !one.started)) return [];
    return [{ id: ids.next() as JobId, hook, end, ended: one }];
  });
  if (firings.length > 0) await fire(tx, firings);
  const enqueued = firings.map(({ end: { workspaceId }, ended: { laneId } }) => ({ workspaceId, laneId }));
  return { ids: new Set(ended.keys()), enqueued };
}

async function fire(tx: Db, firings: readonly Firing[]): Promise<void> {
  await insertHooksAcrossWorkspaces(
    tx,
    firings.map(({ id, hook, end }) => ({ workspaceId: end.workspaceId, id, runId: end.id, hook })),
  );
  await insertOfKind(
    tx,
    firings.map(({ id, hook, end, ended }) => ({
      ...{ workspaceId: end.workspaceId, laneId: ended.laneId, id },
      kind: "hook",
      // Before the runs that wait: a hook should not come hours after its run.
      priority: 1,
      payload: payloadOf(hook, ended, end.result ?? "null"),
      // It fires once, whatever comes of it.
      attempts: 1,
      backoffDelayMs: 0,
      runAtMs: null,
      concurrencyKey: null,
    })),
  );
}

/** What the hook gets: of the end that it is for, since the run may be retried before it fires. */
const payloadOf = (hook: Hook, { id, attempt, error }: EndedRun, result: string): string =>
  `{"hook":"${hook}","runId":"${showRunId(id)}","attempt":${attempt},` +
  `${hook === "onSuccess" ? `"result":${result}` : `"error":${error ?? "null"}`}}`;
