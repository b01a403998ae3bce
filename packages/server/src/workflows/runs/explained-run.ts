import { type Db, type JobId, type RunId, row, rows, sql, type Timestamp } from "#kernel";
import { findPendingCalls } from "../calls/index.ts";
import { findParked } from "../executions/unfit-store.ts";
import { findKeptFor } from "../executions/version-store.ts";
import { findPendingUndo } from "../undo/store.ts";
import {
  isEnded,
  mayBeUndone,
  type ParkedRow,
  type PendingCall,
  type PendingUndo,
  type RunKey,
  type RunRow,
  readRunId,
  runNotFound,
  type StepRow,
} from "./run.ts";
import { LISTED, RUN_AND_LANE } from "./run-store.ts";

/** How many of the steps that a run waits for are named. */
const MAX_NAMED = 3;

type WaitingStep = Pick<StepRow, "key" | "type" | "signal" | "child_run_id" | "wake_at">;

/** A step that a run waits for. An HTTP step has its call, until that has its outcome. */
type NamedStep = WaitingStep & { readonly call: PendingCall | null };

/** Steps that a run waits for. */
export interface WaitingSteps {
  readonly count: number;
  /** When the first of them ends by itself, if one does. */
  readonly firstAt: Timestamp | null;
  /** Those that end first. */
  readonly named: readonly NamedStep[];
}

/** A run with what may keep it from being executed, apart from the gates of its lane. */
export interface RunToExplain {
  /** `now` is the time of the database. */
  readonly run: RunRow & { readonly now: Timestamp };
  /** The id of the job that executes it, or undoes its steps. */
  readonly jobId: JobId;
  readonly waiting: WaitingSteps;
  /** Why it waits for other code, if it does. */
  readonly unfit: ParkedRow | null;
  /** The version for whose workers it is kept, while workers of other versions poll. */
  readonly keptFor: string | null;
  /** What is left of its undo, after it has ended. */
  readonly undo: PendingUndo | null;
}

/** @throws NOT_FOUND */
export async function findRunToExplain(db: Db, workspaceId: RunKey["workspaceId"], id: string): Promise<RunToExplain> {
  const key = { workspaceId, id: readRunId(id) as RunId };
  const run = await findListedRun(db, key);
  if (!run) throw runNotFound(id);
  const isSuspended = run.status === "sleeping" || run.status === "waiting";
  return {
    run,
    jobId: run.id as string as JobId,
    waiting: isSuspended ? await findWaitingSteps(db, key) : { count: 0, firstAt: null, named: [] },
    unfit: run.status === "waiting" ? await findParked(db, key) : null,
    keptFor: isEnded(run) || run.started_at === null ? null : await findKeptFor(db, { ...key, laneId: run.lane_id }),
    undo: mayBeUndone(run) ? await findPendingUndo(db, key) : null,
  };
}

/** Finds a run of a workflow that is not deleted, without its data. Uses the primary keys. */
export const findListedRun = (db: Db, { workspaceId, id }: RunKey): Promise<RunToExplain["run"] | null> =>
  row(db, sql`select ${LISTED}, moment() as now from ${RUN_AND_LANE} where r.workspace_id = ${workspaceId} and r.id = ${id}`);

/** Reads what a run waits for. Uses the primary key of run_step, and index run_call_run. */
export async function findWaitingSteps(db: Db, { workspaceId, id }: RunKey): Promise<WaitingSteps> {
  const named = await rows<WaitingStep & { count: number; first_at: Timestamp | null }>(
    db,
    sql`
      select key, type, signal, child_run_id, wake_at, count(*) over () as count, min(wake_at) over () as first_at from run_step
      where workspace_id = ${workspaceId} and run_id = ${id} and status = 'waiting'
      order by wake_at, key limit ${MAX_NAMED}`,
  );
  const calls = named.some(({ type }) => type === "http") ? await findPendingCalls(db, { workspaceId, id }) : [];
  const callOf = new Map(calls.map((call) => [call.key, call]));
  return {
    count: named[0]?.count ?? 0,
    firstAt: named[0]?.first_at ?? null,
    named: named.map((step) => ({ ...step, call: callOf.get(step.key) ?? null })),
  };
}
