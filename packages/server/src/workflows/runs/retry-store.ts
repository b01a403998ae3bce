import { type Db, plainArray, row, rows, sql, textArray } from "#kernel";
import type { Parent } from "./parent.ts";
import { LIVE, type RunKey } from "./run.ts";

/** A run that is retried. */
export interface RevivedRun {
  readonly attempts: number;
  readonly executions: number;
  readonly backoff_delay_ms: number;
  /** The error that it had, as JSON text. */
  readonly error: string | null;
  /** Keys of the steps that it executes again. Null: its program did not say. */
  readonly retry_steps: readonly string[] | null;
  readonly parent: Pick<Parent, "laneId" | "id"> | null;
}

/** Reverses the end of a failed or cancelled run. Returns null if the run is neither. Uses the primary keys. */
export const reviveRun = (tx: Db, { workspaceId, id }: RunKey): Promise<RevivedRun | null> =>
  row(
    tx,
    sql`
      with before as (
        select status, error, retry_steps from run
        where workspace_id = ${workspaceId} and id = ${id} and status in ('failed', 'cancelled') for no key update
      )
      update run r set status = case when r.started_at is null then 'pending' else 'running' end::run_status, failures = 0, error = null, spared_error = null,
        retries = r.retries + 1, ended_at = null, expires_at = null, retry_steps = null, last_execution = r.executions
      from before, lane l
      where r.workspace_id = ${workspaceId} and r.id = ${id} and r.status in ('failed', 'cancelled')
        and l.workspace_id = ${workspaceId} and l.id = r.lane_id
      -- The error of an earlier attempt of a cancelled run is not why it ended.
      returning r.attempts, r.executions, l.backoff_delay_ms, case before.status when 'failed' then before.error end as error, before.retry_steps,
        (select json_build_object('laneId', p.lane_id, 'id', p.id) from run p
          where p.workspace_id = ${workspaceId} and p.id = r.parent_run_id) as parent`,
  );

/**
 * Removes the steps that a retry executes again, and renumbers the others. If the program did not say which these are, they are the failed
 * steps with the error of the run. The step's error may say more than the run's. Uses the primary keys.
 */
export const deleteStepsToRepeat = (
  tx: Db,
  { workspaceId, id }: RunKey,
  { error, retry_steps: keys }: Pick<RevivedRun, "error" | "retry_steps">,
): Promise<unknown> =>
  rows(
    tx,
    sql`
      with forgotten as (
        select key from run_step
        -- With "= any", each step would be compared with each of up to 10,000 keys.
        where workspace_id = ${workspaceId} and run_id = ${id} and case when ${keys !== null}::boolean
          then key in (select unnest(${textArray(keys ?? [])}::text[])) else status = 'failed' and (error = ${error} or starts_with(error, left(${error}, -1) || ',')) end
        union all
        -- Waits whose signal another run has taken since, and the registration of such a signal: the program requests them again.
        select key from run_step s where s.workspace_id = ${workspaceId} and s.run_id = ${id} and s.signal is not null
          and (s.status = 'waiting' or s.type = 'signal')
          and not exists (select from signal g where g.workspace_id = ${workspaceId} and g.id = s.signal and g.run_id is not distinct from ${id})
        union all
        -- Calls that were withdrawn when the run ended.
        select key from run_step s where s.workspace_id = ${workspaceId} and s.run_id = ${id} and s.type = 'http' and s.status = 'waiting'
          and s.answered_at is null
      ), gone as (
        delete from run_step where workspace_id = ${workspaceId} and run_id = ${id} and (key in (select key from forgotten)) is true
      ), kept as (
        select workspace_id, run_id, key, type, status, attempt, started_at, ended_at, signal, answered_at, seq, cancelled_seq,
          row_number() over (order by status = 'waiting', seq) as place,
          -- What a step has waited for counts when the next execution begins. Errors of waits that ended before that count here, even those
          -- that only say that nothing came.
          case when status = 'waiting' and answered_at is not null then 0
            else coalesce(octet_length(output), 0) + coalesce(octet_length(error), 0) end as bytes
        from run_step where workspace_id = ${workspaceId} and run_id = ${id} and key not in (select key from forgotten)
      ), numbered as (
        -- Each has a row (as in beginExecutions).
        insert into run_step (workspace_id, run_id, key, type, status, attempt, started_at, ended_at, signal, answered_at, seq)
        select workspace_id, run_id, key, type, status, attempt, started_at, ended_at, signal, answered_at, place from kept
        where seq <> place or cancelled_seq is not null
        on conflict (workspace_id, run_id, key) do update set seq = excluded.seq, cancelled_seq = null
      )
      update run set steps = (select count(*) from kept), last_seq = (select count(*) from kept),
        journal_bytes = coalesce((select sum(bytes) from kept), 0)
      where workspace_id = ${workspaceId} and id = ${id}`,
  );

/** Steps that the next attempt of a run executes again. */
export interface StepsToRepeat extends RunKey {
  readonly keys: readonly string[];
}

/** Removes failed and cancelled steps that the next attempts of runs execute again. Runs that have ended keep theirs. Uses the primary keys. */
export function deleteFailuresAcrossWorkspaces(tx: Db, runs: readonly StepsToRepeat[]): Promise<unknown> {
  const named = runs.flatMap(({ workspaceId, id, keys }) => keys.map((key) => ({ workspaceId, id, key })));
  return rows(
    tx,
    sql`
      with gone as (
        delete from run_step s
        using unnest(${plainArray(named.map((one) => one.workspaceId))}::uuid[], ${plainArray(named.map((one) => one.id))}::uuid[],
          ${textArray(named.map((one) => one.key))}::text[]) as n (workspace_id, run_id, key)
        join run r on r.workspace_id = any(array[n.workspace_id]) and r.id = n.run_id and r.${LIVE}
        where s.workspace_id = any(array[n.workspace_id]) and s.run_id = n.run_id and s.key = n.key and s.status in ('failed', 'cancelled')
        returning s.workspace_id, s.run_id, coalesce(octet_length(s.output), 0) + coalesce(octet_length(s.error), 0) as bytes
      )
      update run r set steps = r.steps - g.steps, journal_bytes = r.journal_bytes - g.bytes
      from (select workspace_id, run_id, count(*) as steps, sum(bytes) as bytes from gone group by workspace_id, run_id) g
      where r.workspace_id = any(array[g.workspace_id]) and r.id = g.run_id`,
  );
}
