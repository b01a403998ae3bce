import type { Hook } from "@tidemill/contract";
import { insertInternalJobs, setDueAcrossWorkspaces } from "#jobs";
import type { Db, JobId, RunId, UuidSource } from "#kernel";
import type { LaneKey } from "#lanes";
import { type WithdrawnCall, withdrawCalls } from "../calls/index.ts";
import { insertHooksAcrossWorkspaces } from "../hooks/hook-store.ts";
import { findAwaitingParents } from "../runs/parent.ts";
import { showRunId } from "../runs/run.ts";
import { lockRunsAcrossWorkspaces } from "../steps/wait-store.ts";
import { enqueueUndos } from "../undo/enqueue-undos.ts";
import { findUndosAcrossWorkspaces, type Undo } from "../undo/store.ts";
import { type EndedRun, markEndedAcrossWorkspaces, type RunEnd } from "./end-store.ts";

/** Which hook fires when a run ends. Source: specification, Lifecycle hooks. */
const HOOK_OF: Readonly<Record<RunEnd["status"], Hook>> = { completed: "onSuccess", failed: "onFailure", cancelled: "onCancel" };

/** How often a hook is sent to an endpoint that cannot be reached: for about nine minutes, which is enough for a deployment. */
const UNREACHED = { attempts: 10, backoffDelayMs: 1_000 };

/** A hook to fire, with the run that it is for. */
interface Firing {
  readonly id: JobId;
  readonly hook: Hook;
  readonly end: RunEnd;
  readonly ended: EndedRun;
}

/** The runs that have ended, and the lanes in which their hooks and undos wait, or runs that waited for them. */
export interface RunsEnded {
  readonly ids: ReadonlySet<RunId>;
  readonly enqueued: readonly LaneKey[];
  /** The runs' calls, which nobody waits for any more. */
  readonly withdrawn: readonly WithdrawnCall[];
}

/**
 * Ends these runs, except those that have already ended. Enqueues the jobs of the hooks that their workflows have for these ends, and the
 * jobs that undo their steps. A run that never started has no `onCancel`. Runs that wait for them resume: the caller has locked their jobs
 * together with those of the ended runs.
 */
export async function endRunsAcrossWorkspaces(tx: Db, ids: UuidSource, ends: readonly RunEnd[]): Promise<RunsEnded> {
  const undos = await findUndos(tx, ends);
  const marked = await markEndedAcrossWorkspaces(
    tx,
    ends.map((end) => withErrorOf(end, undos.get(end.id))),
  );
  const ended = new Map(marked.map((one) => [one.id, one]));
  const firings = ends.flatMap((end): Firing[] => {
    const one = ended.get(end.id);
    const hook = HOOK_OF[end.status];
    if (!one?.hooks.includes(hook) || (hook === "onCancel" && !one.started)) return [];
    return [{ id: ids.next() as JobId, hook, end, ended: one }];
  });
  const withdrawn: WithdrawnCall[] = [];
  for (const end of ends) if (ended.get(end.id)?.hasCalls) withdrawn.push(...(await withdrawCalls(tx, end)));
  const toUndo = ends.flatMap(({ workspaceId, id, isUndone = false }) => {
    const one = undos.get(id)?.isNeeded && !isUndone ? ended.get(id) : undefined;
    return one ? [{ workspaceId, id, laneId: one.laneId, executions: one.executions, version: one.version }] : [];
  });
  if (toUndo.length > 0) await enqueueUndos(tx, toUndo);
  if (firings.length > 0) await fire(tx, firings);
  const woken = await wakeParents(
    tx,
    ends.filter(({ id }) => ended.get(id)?.hasParent),
  );
  const hooked = firings.map(({ end: { workspaceId }, ended: { laneId } }) => ({ workspaceId, laneId }));
  const undone = toUndo.map(({ workspaceId, laneId }) => ({ workspaceId, laneId }));
  return { ids: new Set(ended.keys()), enqueued: [...hooked, ...undone, ...woken], withdrawn };
}

async function findUndos(tx: Db, ends: readonly RunEnd[]): Promise<ReadonlyMap<RunId, Undo>> {
  const unsuccessful = ends.filter(({ status }) => status !== "completed");
  if (unsuccessful.length === 0) return new Map();
  // A plain step is stored under the lock of its run alone. With this lock, a step that is being stored now is in the journal, too.
  await lockRunsAcrossWorkspaces(tx, unsuccessful);
  return findUndosAcrossWorkspaces(tx, unsuccessful);
}

/** The end of a run. If its program has begun to undo, the run fails with the error for which it did so. */
const withErrorOf = (end: RunEnd, undo: Undo | undefined): RunEnd =>
  end.status === "failed" && undo?.error ? { ...end, error: undo.error } : end;

/** Resumes the runs that wait for runs that have ended. Their jobs are locked. Returns their lanes. */
async function wakeParents(tx: Db, ended: readonly RunEnd[]): Promise<readonly LaneKey[]> {
  const parents = ended.length > 0 ? await findAwaitingParents(tx, ended, true) : [];
  if (parents.length > 0)
    await setDueAcrossWorkspaces(
      tx,
      parents.map((job) => ({ ...job, at: null })),
    );
  return parents;
}

async function fire(tx: Db, firings: readonly Firing[]): Promise<void> {
  await insertHooksAcrossWorkspaces(
    tx,
    firings.map(({ id, hook, end }) => ({ workspaceId: end.workspaceId, id, runId: end.id, hook })),
  );
  await insertInternalJobs(
    tx,
    firings.map(({ id, hook, end, ended }) => ({
      ...{ workspaceId: end.workspaceId, laneId: ended.laneId, id },
      kind: "hook",
      // Hooks come before the runs that wait: a hook should not run hours after its run has ended.
      priority: 1,
      payload: payloadOf(hook, ended, end.result ?? "null"),
      // A request is repeated only if it did not arrive.
      ...UNREACHED,
      runAtMs: null,
      concurrencyKey: null,
    })),
  );
}

/** What the hook gets. It describes the end for which the hook fires, because the run may be retried before that. */
const payloadOf = (hook: Hook, { id, attempt, error }: EndedRun, result: string): string =>
  `{"hook":"${hook}","runId":"${showRunId(id)}","attempt":${attempt},` +
  `${hook === "onSuccess" ? `"result":${result}` : `"error":${error ?? "null"}`}}`;
