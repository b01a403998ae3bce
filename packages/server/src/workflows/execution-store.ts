import type { NamedClaim } from "#jobs";
import { type Db, plainArray, type RunId, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";
import { LIVE, type RunKey } from "./run.ts";

/** A run whose execution begins. Input and trigger are JSON texts. */
export interface BegunRun {
  readonly id: RunId;
  readonly version: string | null;
  readonly failures: number;
  readonly attempts: number;
  readonly input: string;
  readonly trigger: string;
  readonly created_at: Timestamp;
  /** Steps in its journal. */
  readonly steps: number;
}

/**
 * Begins executions: sleeps that are over end, and waits whose signal was completed or whose time has passed, in the order of their
 * ends. A payload that is there counts, also if the time has passed since. The runs are running. Returns those that have not ended meanwhile.
 * Uses the primary keys.
 */
export const beginExecutions = (db: Db, workspaceId: WorkspaceId, ids: readonly RunId[], version: string | null): Promise<BegunRun[]> =>
  rows(
    db,
    sql`
      with begun as (
        select workspace_id, id from run where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[]) and ${LIVE}
        order by id for no key update
      ), pending as (
        select s.workspace_id, s.run_id, s.key, s.seq, s.wake_at, s.signal
        from begun join run_step s on s.workspace_id = any(array[begun.workspace_id]) and s.run_id = begun.id and s.status = 'waiting'
      ), awaited as (
        select g.workspace_id, g.id, g.run_id, g.payload, g.completed_at
        from pending p join signal g on g.workspace_id = any(array[p.workspace_id]) and g.id = p.signal and g.run_id = p.run_id and not g.consumed
        for update of g
      ), over as (
        select p.*, g.payload, coalesce(g.completed_at, p.wake_at) as ended_at, p.signal is not null and g.payload is null as timed_out,
          row_number() over (partition by p.run_id order by coalesce(g.completed_at, p.wake_at), p.seq) as place
        from pending p left join (select distinct on (workspace_id, id) * from awaited) g
          on g.workspace_id = p.workspace_id and g.id = p.signal and g.run_id = p.run_id
        where p.wake_at <= moment() or g.payload is not null
      ), woken as (
        update run_step s set status = case when over.timed_out then 'failed' else 'completed' end::step_status,
          output = case when not over.timed_out then coalesce(over.payload, 'null') end,
          error = case when over.timed_out then json_build_object('name', 'SignalTimeoutError',
            'message', 'The signal "' || over.signal || '" was not completed in time.')::text end,
          ended_at = over.ended_at, seq = r.steps + over.place
        from over join run r on r.workspace_id = any(array[over.workspace_id]) and r.id = over.run_id
        where s.workspace_id = any(array[over.workspace_id]) and s.run_id = over.run_id and s.key = over.key
      ), consumed as (
        update signal g set consumed = true from over
        where not over.timed_out and g.workspace_id = any(array[over.workspace_id]) and g.id = over.signal and g.run_id = over.run_id
      ), forgotten as (
        delete from signal g using over
        where over.timed_out and not g.registered and g.workspace_id = any(array[over.workspace_id]) and g.id = over.signal
          and g.run_id = over.run_id and g.payload is null
      )
      update run r set status = 'running', started_at = coalesce(started_at, moment()), version = coalesce(version, ${version}),
        next_attempt_at = null, steps = steps + (select count(*) from over where over.run_id = r.id)
      where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[]) and ${LIVE}
      returning id, version, failures, attempts, input, trigger, created_at, steps`,
  );

/** Locks the job of a run and then the run, as a settle does, for a report on it. Null unless the claim holds. Uses the primary keys. */
export const lockExecution = (tx: Db, { workspaceId, id }: RunKey, claim: NamedClaim): Promise<{ steps: number } | null> =>
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
