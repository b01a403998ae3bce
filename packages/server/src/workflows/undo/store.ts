import type { NamedClaim } from "#jobs";
import { type Db, fragment, plainArray, type RunId, row, rows, sql, type WorkspaceId } from "#kernel";
import type { BegunRun } from "../execution-store.ts";
import type { RunKey } from "../run.ts";
import { UNDO_BEGUN } from "./key.ts";

/** Of a step `s`: it has completed, and its undo has no outcome. */
const TO_UNDO = fragment`s.undoable and s.status = 'completed' and not exists (
  select from run_step u where u.workspace_id = s.workspace_id and u.run_id = s.run_id and u.key = 'undo(' || s.key || ')')`;

/** Whether steps of a run are to be undone, and the error for which its program has begun to do so, as JSON text. Uses the primary key. */
export const findUndo = async (tx: Db, { workspaceId, id }: RunKey): Promise<{ isNeeded: boolean; error: string | null }> =>
  (await row<{ isNeeded: boolean; error: string | null }>(
    tx,
    sql`
      select exists (select from run_step s where s.workspace_id = ${workspaceId} and s.run_id = ${id} and ${TO_UNDO}) as "isNeeded",
        (select output from run_step where workspace_id = ${workspaceId} and run_id = ${id} and key = ${UNDO_BEGUN}) as error`,
  )) ?? { isNeeded: false, error: null };

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

/** Locks the job of a run and then the run, whether that has ended or not. Null unless the claim holds. Uses the primary keys. */
export const lockUndo = (tx: Db, { workspaceId, id }: RunKey, claim: NamedClaim): Promise<{ steps: number } | null> =>
  row(
    tx,
    sql`
      with held as (
        select from job where workspace_id = ${workspaceId} and lane_id = ${claim.laneId} and id = ${id} and state = 'active'
          and lease_id is not distinct from ${claim.leaseId}::bigint and attempt = ${claim.attempt}
        for share
      )
      select steps from run where workspace_id = ${workspaceId} and id = ${id} and exists (select from held) for no key update`,
  );

/** Runs that have ended, for executions that undo their steps. Uses the primary key. */
export const findEnded = (db: Db, workspaceId: WorkspaceId, ids: readonly RunId[]): Promise<BegunRun[]> =>
  rows(
    db,
    sql`
      select id, version, failures, attempts, input, trigger, created_at from run
      where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[]) and ended_at is not null`,
  );

/**
 * Records that steps whose undo has no outcome could not be undone, in the order in which they would have been: the last one first. Uses the
 * primary key.
 *
 * @param error JSON text
 */
export const recordLeftUndos = (tx: Db, { workspaceId, id }: RunKey, error: string): Promise<unknown> =>
  rows(
    tx,
    sql`
      with locked as (
        select steps from run where workspace_id = ${workspaceId} and id = ${id} for no key update
      ), unfinished as (
        select s.key, row_number() over (order by s.seq desc) as place from run_step s
        where s.workspace_id = ${workspaceId} and s.run_id = ${id} and ${TO_UNDO}
      ), recorded as (
        insert into run_step (workspace_id, run_id, key, seq, type, status, error, attempt, started_at, ended_at)
        select ${workspaceId}, ${id}, 'undo(' || key || ')', locked.steps + place, 'undo', 'failed', ${error}, 1, moment(), moment()
        from unfinished, locked
        returning key
      )
      update run set steps = steps + (select count(*) from recorded)
      where workspace_id = ${workspaceId} and id = ${id} and exists (select from recorded)`,
  );
