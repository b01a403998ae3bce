import type { JobState } from "@tidemill/contract";
import { type Db, row, sql } from "#kernel";
import type { JobKey, JobRow } from "./job.ts";

/** Leans on the primary keys of job and of job_history's partitions. */
export const findJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<(JobRow & { attempts_log: string }) | null> =>
  row(db, sql`select * from job_record where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}`);

/** Locks the concurrency key of a job that waits, if it has one, until the transaction ends. Answers whether it did. */
export const lockKeyOfWaiting = async (tx: Db, { workspaceId, laneId, id }: JobKey): Promise<boolean> =>
  (await row(
    tx,
    sql`
      select lock_keys(array[lane_id], array[concurrency_key]) from job
      where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
        -- Not by "is not null": that would offer job_key, which a plan that was made for few keys walks from end to end.
        and state = 'waiting' and coalesce(concurrency_key, '') <> ''`,
  )) !== null;

/**
 * Ends a job that has not finished (I4). Whoever else moves it at the same moment wins or loses whole: the row is there or
 * it is gone. An attempt under way is logged as cancelled; its claim moves nothing any more.
 *
 * Of jobs with a key, this takes those that wait if the key is locked already, and those that do not if it is not. Whoever arranges a
 * key must find nobody at its waiting jobs but claims; and whoever moves another job has that first, and locks the key after it.
 */
export const cancelJob = (
  db: Db,
  { workspaceId, laneId, id }: JobKey,
  keyIsLocked: boolean,
): Promise<(JobRow & { claimed_by: number | null }) | null> =>
  row(
    db,
    sql`
      with gone as (
        delete from job
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
          and state in ('waiting', 'delayed', 'pending_approval', 'active')
          and (concurrency_key is null or (state = 'waiting') = ${keyIsLocked}::boolean)
        returning *
      ), kept as (
        insert into job_history (workspace_id, lane_id, id, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at,
          created_at, started_at, finished_at, tag, concurrency_key, payload, last_error, attempts_log, expires_at,
          schedule, scheduled_for, idempotency_key, approval)
        select g.workspace_id, lane_id, g.id, 'cancelled', priority, attempt, spared, attempts, backoff_delay_ms, run_at,
          g.created_at, started_at, moment(), tag, concurrency_key, payload, last_error,
          case when g.state <> 'active' then attempts_log else
            concat_ws(',', nullif(attempts_log, ''), json_build_object('attempt', attempt, 'started_at',
              to_char(started_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
              'duration_ms', round((extract(epoch from moment() - started_at) * 1000)::numeric, 2), 'outcome', 'cancelled',
              'status', null, 'error', null, 'worker', null)::text) end,
          coalesce(moment() + w.retention_days * interval '1 day', 'infinity'), schedule, scheduled_for, idempotency_key, approval
        from gone g join workspace w on w.id = g.workspace_id
        returning *
      ), counted as (
        insert into tally (workspace_id, lane_id, at, cancelled) select workspace_id, lane_id, moment(), 1 from gone
      )
      select kept.*, gone.node_id as claimed_by, (
        select arrange_keys(array_agg(workspace_id), array_agg(lane_id), array_agg(concurrency_key)) from gone
        where concurrency_key is not null) as arranged
      from kept join gone using (id)`,
  );

/** Removes a finished job. Answers whether it had failed; null when there was none. */
export const removeJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<{ failed: boolean } | null> =>
  row(
    db,
    sql`
      with failed as (
        delete from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'failed' returning id
      ), finished as (
        delete from job_history
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and expires_at > moment() returning *
      ), counted as (
        insert into tally (workspace_id, lane_id, at, completed, cancelled, rejected)
        select workspace_id, lane_id, finished_at, -(state = 'completed')::int, -(state = 'cancelled')::int, -(state = 'rejected')::int
        from finished
      )
      select true as failed from failed union all select false from finished`,
  );

/** A failed job waits again. Attempts go on counting (I5); those started so far no longer count against it. */
export const retryFailedJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<JobRow | null> =>
  row(
    db,
    sql`
      with moved as (
        update job set state = 'waiting', spared = attempt, node_losses = 0, run_at = moment(), finished_at = null
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'failed'
        returning *
      )
      select moved.*, null as result, (
        select arrange_keys(array_agg(workspace_id), array_agg(lane_id), array_agg(concurrency_key)) from moved
        where concurrency_key is not null) as arranged
      from moved`,
  );

/**
 * A cancelled or rejected job comes back from history: to wait, or to be decided, if it is one of an approval queue that nobody has
 * decided. Answers it if that is the state that it comes back to.
 */
export const bringJobBack = (
  db: Db,
  { workspaceId, laneId, id }: JobKey,
  to: Extract<JobState, "waiting" | "pending_approval">,
): Promise<(JobRow & { was: JobState }) | null> =>
  row(
    db,
    sql`
      with gone as (
        delete from job_history
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
          and state in ('cancelled', 'rejected') and expires_at > moment()
          and (state = 'cancelled' and approval is null and exists (
            select from queue q where q.workspace_id = ${workspaceId} and q.id = ${laneId} and q.type = 'approval')) = ${to === "pending_approval"}
        returning *
      ), counted as (
        insert into tally (workspace_id, lane_id, at, cancelled, rejected)
        select workspace_id, lane_id, finished_at, -(state = 'cancelled')::int, -(state = 'rejected')::int from gone
      ), moved as (
        insert into job (workspace_id, lane_id, id, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at, created_at,
          started_at, tag, concurrency_key, payload, last_error, attempts_log, schedule, scheduled_for, idempotency_key, approval, decide_at)
        select g.workspace_id, lane_id, g.id, ${to}::job_state, priority, attempt, attempt, g.attempts, g.backoff_delay_ms, moment(), g.created_at,
          started_at, tag, concurrency_key, payload, last_error, attempts_log, schedule, scheduled_for, idempotency_key, approval,
          case when ${to}::job_state = 'pending_approval' then moment() + q.approval_timeout * interval '1 second' end
        from gone g left join queue q on q.workspace_id = g.workspace_id and q.id = g.lane_id
        returning *
      )
      select moved.*, null as result, gone.state as was, (
        select arrange_keys(array_agg(workspace_id), array_agg(lane_id), array_agg(concurrency_key)) from moved
        where state = 'waiting' and concurrency_key is not null) as arranged
      from moved join gone using (id)`,
  );
