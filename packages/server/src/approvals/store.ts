import type { JobKey, JobRow } from "#jobs";
import { type Db, row, sql } from "#kernel";
import type { Ruling } from "./decide.ts";

/** An approved job waits, from now on or until it is due: it overtakes nobody by its age. Leans on the primary key. */
export const approveJob = (db: Db, { workspaceId, laneId, id }: JobKey, { by, comment }: Ruling): Promise<JobRow | null> =>
  row(
    db,
    sql`
      with moved as (
        update job set state = case when run_at > moment() then 'delayed' else 'waiting' end::job_state, run_at = greatest(run_at, moment()),
          decide_at = null, approval = show_decision('approved', ${by}, ${comment})
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'pending_approval'
        returning *
      )
      select moved.*, null as result, (
        select arrange_keys(array_agg(workspace_id), array_agg(lane_id), array_agg(concurrency_key)) from moved
        where state = 'waiting' and concurrency_key is not null) as arranged
      from moved`,
  );

/** A rejected job goes to history. Leans on the primary key. */
export const rejectJob = (db: Db, { workspaceId, laneId, id }: JobKey, { by, comment }: Ruling): Promise<JobRow | null> =>
  row(
    db,
    sql`
      with gone as (
        delete from job
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'pending_approval'
        returning *
      ), counted as (
        insert into tally (workspace_id, lane_id, at, rejected) select workspace_id, lane_id, moment(), 1 from gone
      )
      insert into job_history (workspace_id, lane_id, id, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at,
        created_at, started_at, finished_at, tag, concurrency_key, payload, last_error, attempts_log, expires_at,
        schedule, scheduled_for, idempotency_key, approval)
      select g.workspace_id, lane_id, g.id, 'rejected', priority, attempt, spared, attempts, backoff_delay_ms, run_at,
        g.created_at, started_at, moment(), tag, concurrency_key, payload, last_error, attempts_log,
        coalesce(moment() + w.retention_days * interval '1 day', 'infinity'), schedule, scheduled_for, idempotency_key,
        show_decision('rejected', ${by}, ${comment})
      from gone g join workspace w on w.id = g.workspace_id
      returning *`,
  );
