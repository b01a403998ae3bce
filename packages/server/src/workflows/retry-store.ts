import { type Db, row, rows, sql } from "#kernel";
import type { RunKey } from "./run.ts";

/** A run that goes on. */
export interface RevivedRun {
  readonly attempts: number;
  readonly executions: number;
  readonly backoff_delay_ms: number;
  /** Whether it had failed, and the error that it had, as JSON text. */
  readonly failed: boolean;
  readonly error: string | null;
}

/** Takes back the end of a failed or cancelled run. Returns null if it is neither. Uses the primary keys. */
export const reviveRun = (tx: Db, { workspaceId, id }: RunKey): Promise<RevivedRun | null> =>
  row(
    tx,
    sql`
      with before as (
        select status, error from run where workspace_id = ${workspaceId} and id = ${id} and status in ('failed', 'cancelled') for no key update
      )
      update run r set status = case when r.started_at is null then 'pending' else 'running' end::run_status, failures = 0, error = null, retries = retries + 1,
        ended_at = null, expires_at = null
      from before, lane l
      where r.workspace_id = ${workspaceId} and r.id = ${id} and r.status in ('failed', 'cancelled')
        and l.workspace_id = ${workspaceId} and l.id = r.lane_id
      returning r.attempts, r.executions, l.backoff_delay_ms, before.status = 'failed' as failed, before.error`,
  );

/**
 * Removes failed steps with the error of the run; all failed steps if a failed run has the error of none. Numbers the others anew. Uses the
 * primary keys.
 */
export const forgetFailedSteps = (
  tx: Db,
  { workspaceId, id }: RunKey,
  { failed, error }: Pick<RevivedRun, "failed" | "error">,
): Promise<unknown> =>
  rows(
    tx,
    sql`
      with failures as (
        select key, coalesce(error::jsonb = ${error}::jsonb, false) as is_cause from run_step
        where workspace_id = ${workspaceId} and run_id = ${id} and status = 'failed'
      ), forgotten as (
        select key from failures where is_cause or (${failed}::boolean and not exists (select from failures where is_cause))
        union all
        -- Waits whose signal another run has taken since: the program asks for them anew.
        select key from run_step s where s.workspace_id = ${workspaceId} and s.run_id = ${id} and s.status = 'waiting' and s.signal is not null
          and not exists (select from signal g where g.workspace_id = ${workspaceId} and g.id = s.signal and g.run_id = ${id} and not g.consumed)
      ), gone as (
        delete from run_step where workspace_id = ${workspaceId} and run_id = ${id} and key in (select key from forgotten)
      ), kept as (
        select key, row_number() over (order by status = 'waiting', seq) as place from run_step
        where workspace_id = ${workspaceId} and run_id = ${id} and key not in (select key from forgotten)
      ), numbered as (
        update run_step s set seq = kept.place from kept
        where s.workspace_id = ${workspaceId} and s.run_id = ${id} and s.key = kept.key and s.seq <> kept.place
      )
      update run set steps = (select count(*) from kept) where workspace_id = ${workspaceId} and id = ${id}`,
  );
