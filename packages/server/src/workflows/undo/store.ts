import { UNDO_BEGUN } from "@tidemill/contract";
import { binaryTextArray, type Db, fragment, plainArray, type RunId, row, rows, sql, type WorkspaceId } from "#kernel";
import { type BegunRun, INPUT_AND_SIZE } from "../executions/execution-store.ts";
import type { PendingUndo, RunKey } from "../runs/run.ts";
import { PROBE_AT } from "../runs/run-store.ts";
import type { RunToUndo } from "./enqueue-undos.ts";

/** A condition on step `s`: it has completed, and its undo has no outcome. */
const TO_UNDO = fragment`s.undoable and s.status = 'completed' and not exists (
  select from run_step u where u.workspace_id = s.workspace_id and u.run_id = s.run_id and u.key = 'undo(' || s.key || ')')`;

/** What must be undone of a run. */
export interface Undo {
  readonly id: RunId;
  readonly isNeeded: boolean;
  /** The error for which its program has begun to undo, as JSON text. */
  readonly error: string | null;
}

/** What must be undone of runs that end. Uses the primary key. */
export async function findUndosAcrossWorkspaces(tx: Db, runs: readonly RunKey[]): Promise<ReadonlyMap<RunId, Undo>> {
  const found = await rows<Undo>(
    tx,
    sql`
      select r.id, exists (select from run_step s where s.workspace_id = any(array[r.workspace_id]) and s.run_id = r.id and ${TO_UNDO}) as "isNeeded",
        (select b.output from run_step b where b.workspace_id = any(array[r.workspace_id]) and b.run_id = r.id and b.key = ${UNDO_BEGUN}) as error
      from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[], ${plainArray(runs.map((one) => one.id))}::uuid[])
        as r (workspace_id, id)`,
  );
  return new Map(found.map((one) => [one.id, one]));
}

/** Runs that have ended and have steps that are still to be undone, with the versions of their code. Uses the primary keys. */
export const findLeftAcrossWorkspaces = (tx: Db, runs: readonly RunKey[]): Promise<Omit<RunToUndo, "executions">[]> =>
  rows(
    tx,
    sql`
      select r.workspace_id as "workspaceId", r.id, r.lane_id as "laneId", r.version
      from (select * from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[], ${plainArray(runs.map((one) => one.id))}::uuid[])
        as e (workspace_id, id) order by workspace_id, id) e,
      lateral (
        select r.workspace_id, r.id, r.lane_id, r.version from run r
        where r.workspace_id = any(array[e.workspace_id]) and r.id = e.id and r.ended_at is not null offset 0
      ) r
      where (select exists (select from run_step s where s.workspace_id = any(array[r.workspace_id]) and s.run_id = r.id and ${TO_UNDO}))`,
  );

/** Whether steps of a run that has failed or was cancelled are undone, or will be. Uses the primary key. */
export const hasUndone = async (tx: Db, { workspaceId, id }: RunKey): Promise<boolean> =>
  (
    await rows(
      tx,
      sql`
        select key from run_step
        where workspace_id = ${workspaceId} and run_id = ${id} and (type = 'undo' or (undoable and status = 'completed')) limit 1`,
    )
  ).length > 0;

/** Runs that have ended, for executions that undo their steps. Uses the primary key. */
export const findEnded = (db: Db, workspaceId: WorkspaceId, ids: readonly RunId[]): Promise<BegunRun[]> =>
  rows(
    db,
    sql`
      select id, version, failures, attempts, trigger, created_at, ${INPUT_AND_SIZE} from run
      where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[]) and ended_at is not null`,
  );

/** The undo of a run that has ended, which has the id of the run. Null: there is none, or it has ended. Uses the primary keys. */
export const findPendingUndo = (db: Db, { workspaceId, id }: RunKey): Promise<PendingUndo | null> =>
  row(
    db,
    sql`
      select case j.state when 'delayed' then greatest(j.run_at, ${PROBE_AT}) when 'waiting' then ${PROBE_AT} end as next_attempt_at,
        j.last_error::json as last_error
      from run r cross join lateral (
        select * from job where job.workspace_id = any(array[r.workspace_id]) and job.lane_id = r.lane_id and job.id = r.id offset 0
      ) j
      where r.workspace_id = ${workspaceId} and r.id = ${id} and r.ended_at is not null`,
  );

/** A run whose undo has ended for good. */
export interface UndoEnd extends RunKey {
  /** Why the steps that it has left out are not undone. JSON text. */
  readonly error: string;
}

/**
 * Records that steps whose undo has no outcome could not be undone, in the order in which they would have been: the last one first. Uses the
 * primary keys.
 */
export const recordLeftUndosAcrossWorkspaces = (tx: Db, ends: readonly UndoEnd[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      with locked as (
        select r.workspace_id, r.id, r.last_seq, e.error
        from unnest(${plainArray(ends.map((one) => one.workspaceId))}::uuid[], ${plainArray(ends.map((one) => one.id))}::uuid[],
          ${binaryTextArray(ends.map((one) => one.error))}::text[]) as e (workspace_id, id, error)
        join run r on r.workspace_id = any(array[e.workspace_id]) and r.id = e.id
        order by r.workspace_id, r.id for no key update of r
      ), unfinished as (
        select l.*, s.key, row_number() over (partition by s.run_id order by s.seq desc) as place
        from locked l join run_step s on s.workspace_id = any(array[l.workspace_id]) and s.run_id = l.id
        where ${TO_UNDO}
      ), recorded as (
        insert into run_step (workspace_id, run_id, key, seq, type, status, error, attempt, started_at, ended_at)
        select workspace_id, id, 'undo(' || key || ')', last_seq + place, 'undo', 'failed', error, 1, moment(), moment() from unfinished
        returning workspace_id, run_id, octet_length(error) as bytes
      )
      update run r set steps = r.steps + c.steps, last_seq = r.last_seq + c.steps, journal_bytes = r.journal_bytes + c.bytes
      from (select workspace_id, run_id, count(*) as steps, sum(bytes) as bytes from recorded group by workspace_id, run_id) c
      where r.workspace_id = any(array[c.workspace_id]) and r.id = c.run_id`,
  );
