import type { JobState, Plan, RunStatus } from "@tidemill/contract";
import { type Db, type Fragment, fragment, row, sql, type WorkspaceId } from "#kernel";
import { WORKER_GONE_SECONDS, WORKER_HOLDS_A_JOB } from "#workers";

export interface WorkspaceSummary extends Record<JobState, number> {
  name: string;
  plan: Plan;
  queues: number;
  schedules: number;
  with_callback: number;
  /** Workflows with an `endpoint_url`. */
  with_endpoint: number;
  failed_last_minute: number;
  /** Webhooks that were switched off because they failed. */
  failing_webhooks: number;
  /** Names of the first five queues and workflows whose circuit is open. Null: none is. */
  open_circuits: string | null;
  /** Names of the first five queues and workflows whose jobs or runs have waited for a minute, and for which no worker asks. Null: none. */
  without_worker: string | null;
  /** Runs by status. */
  runs: Partial<Record<RunStatus, number>> | null;
}

/** Looks up the lane of a row, unless it is deleted. With a join, the planner could read all rows again for each lane. */
const laneOf = (of: Fragment): Fragment => fragment`
  select from lane where workspace_id = any(array[${of}.workspace_id]) and id = ${of}.lane_id and coalesce(deleted_at, 'infinity') = 'infinity'`;
const [LANE_OF_COUNT, LANE_OF_TALLY, LANE_OF_RUNS] = [laneOf(fragment`c`), laneOf(fragment`t`), laneOf(fragment`r`)];

/**
 * Reads what a workspace has. The numbers of jobs and runs are stored counts (docs/decisions/0037-kept-counts.md), finished jobs are summed
 * from the tally, and only active jobs are counted. Uses indexes that begin with the workspace: job_delta_workspace, run_delta_workspace,
 * tally_lane, lease_worker, those of schedule and the primary keys; job_active, and job_claimable once for each queue or workflow that no
 * worker polls. Executions of runs and hooks, which wait in lanes of their own, do
 * not count as jobs.
 */
export async function readWorkspaceSummary(db: Db, workspaceId: WorkspaceId): Promise<WorkspaceSummary> {
  const summary = await row<WorkspaceSummary>(
    db,
    sql`
      with kept as (
        select coalesce(sum(c.live), 0)::bigint as live, coalesce(sum(c.delayed), 0)::bigint as delayed,
          coalesce(sum(c.pending_approval), 0)::bigint as pending_approval, coalesce(sum(c.dead), 0)::bigint as failed
        from job_count_now c cross join lateral (${LANE_OF_COUNT} and kind = 'queue' offset 0) l
        where c.workspace_id = ${workspaceId}
      ), active as (
        select active_jobs(${workspaceId}::uuid, null) as active
      ), finished as (
        select coalesce(sum(t.completed), 0)::bigint as completed, coalesce(sum(t.cancelled), 0)::bigint as cancelled,
          coalesce(sum(t.rejected), 0)::bigint as rejected,
          coalesce(sum(t.failed) filter (where t.at > moment() - interval '1 minute'), 0)::bigint as failed_last_minute
        from workspace w join tally_now t on t.workspace_id = w.id and (w.retention_days is null or t.at > moment() - w.retention_days * interval '1 day')
          cross join lateral (${LANE_OF_TALLY} offset 0) l
        where w.id = ${workspaceId}
      ), held as (
        select count(*) as queues, count(callback_url) as with_callback,
          (select count(*) from webhook_record where workspace_id = ${workspaceId} and disabled_for = 'failing') as failing_webhooks,
          (select count(endpoint_url) from workflow_record where workspace_id = ${workspaceId}) as with_endpoint
        from queue_record where workspace_id = ${workspaceId} and deleted_at is null
      ), polled as materialized (
        select of.kind, name from lease held join worker w on w.lease_id = held.id
          cross join lateral (values ('queue'::lane_kind, w.queues), ('workflow', w.workflows)) of (kind, names) cross join unnest(of.names) name
        where held.workspace_id = ${workspaceId} and (w.last_seen_at >= moment() - ${WORKER_GONE_SECONDS} * interval '1 second'
          or ${WORKER_HOLDS_A_JOB})
      ), unserved as (
        select l.name from (
          select l.id, l.name
          from (select lane_id from job_count_now where workspace_id = ${workspaceId} group by lane_id having sum(live) > 0) c
            join lane l on l.workspace_id = ${workspaceId} and l.id = c.lane_id
          where l.served <> 'push' and not l.paused and l.deleted_at is null
            -- A hashed subplan. "not exists" would read all of them for each lane.
            and (l.kind, l.name) not in (select kind, name from polled)
          offset 0) l
        where (select run_at from job where workspace_id = ${workspaceId} and lane_id = l.id and state = 'waiting'
          and (concurrency_key is null or key_slot is not null) order by priority desc, run_at, id limit 1) < moment() - interval '1 minute'
        limit 6
      )
      select w.name, w.plan,
        (select string_agg(case when place > 5 then 'and others' else name end, ', ' order by place)
          from (select name, row_number() over (order by name) as place from unserved) named) as without_worker,
        greatest(0, kept.live - active.active) as waiting, active.active, kept.delayed, kept.pending_approval, kept.failed,
        (select count(*) from schedule where workspace_id = ${workspaceId} and not starts_with(name, 'workflow:')) as schedules,
        (select string_agg(name, ', ' order by place) from (
          select case when place > 5 then 'and others' else name end as name, place from (
            select l.name, row_number() over (order by c.opened_at) as place
            from circuit c join lane l on l.workspace_id = c.workspace_id and l.id = c.lane_id and l.deleted_at is null
            where c.workspace_id = ${workspaceId} order by c.opened_at limit 6) named) listed) as open_circuits,
        (select json_object_agg(status, runs) from (
          select r.status, sum(r.runs)::bigint as runs from run_count_now r cross join lateral (${LANE_OF_RUNS} offset 0) l
          where r.workspace_id = ${workspaceId} group by r.status having sum(r.runs) <> 0) by_status) as runs,
        finished.*, held.*
      from workspace w, kept, active, finished, held where w.id = ${workspaceId}`,
  );
  if (!summary) throw new Error("The workspace of a valid key does not exist.");
  return summary;
}
