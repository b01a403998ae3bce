import type { JobState, Plan, RunStatus } from "@tidemill/contract";
import { type Db, row, sql, type WorkspaceId } from "#kernel";

export interface WorkspaceSummary extends Record<JobState, number> {
  name: string;
  plan: Plan;
  queues: number;
  schedules: number;
  with_callback: number;
  /** Workflows with an `endpoint_url`. */
  with_endpoint: number;
  failed_last_minute: number;
  /** Runs by status. */
  runs: Partial<Record<RunStatus, number>> | null;
}

/**
 * Counts what a workspace has. Jobs that have not finished are counted, finished ones are summed from the tally. Uses indexes that begin
 * with the workspace: job_claimable and job_blocked, or the primary key if the planner prefers it; job_active, job_parked, tally_lane,
 * and those of schedule. Executions of runs and hooks, which wait in lanes of their own, are not counted as jobs. Those that wait are
 * subtracted: a filter by kind would read every waiting job instead of its index entry.
 */
export async function readWorkspaceSummary(db: Db, workspaceId: WorkspaceId): Promise<WorkspaceSummary> {
  const summary = await row<WorkspaceSummary>(
    db,
    sql`
      with parked as (
        select count(*) filter (where state = 'delayed') as delayed, count(*) filter (where state = 'pending_approval') as pending_approval,
          count(*) filter (where state = 'failed') as failed
        from job where workspace_id = ${workspaceId} and state in ('delayed', 'pending_approval', 'failed') and kind = 'queue'
      ), executions as (
        select coalesce(sum(
            (select count(*) from job where workspace_id = ${workspaceId} and lane_id = l.id and state = 'waiting'
              and (concurrency_key is null or key_slot is not null))
            + (select count(*) from job where workspace_id = ${workspaceId} and lane_id = l.id and state = 'waiting'
              and concurrency_key is not null and key_slot is null)), 0)::bigint as waiting
        from lane l where l.workspace_id = ${workspaceId} and l.kind <> 'queue'
      ), finished as (
        select coalesce(sum(t.completed), 0)::bigint as completed, coalesce(sum(t.cancelled), 0)::bigint as cancelled,
          coalesce(sum(t.rejected), 0)::bigint as rejected,
          coalesce(sum(t.failed) filter (where t.at > moment() - interval '1 minute'), 0)::bigint as failed_last_minute
        from workspace w join tally t on t.workspace_id = w.id and (w.retention_days is null or t.at > moment() - w.retention_days * interval '1 day')
          join lane l on l.workspace_id = t.workspace_id and l.id = t.lane_id and l.deleted_at is null
        where w.id = ${workspaceId}
      ), held as (
        select count(*) as queues, count(callback_url) as with_callback,
          (select count(endpoint_url) from workflow_record where workspace_id = ${workspaceId}) as with_endpoint
        from queue_record where workspace_id = ${workspaceId} and deleted_at is null
      )
      select w.name, w.plan,
        (select count(*) from job where workspace_id = ${workspaceId} and state = 'waiting' and (concurrency_key is null or key_slot is not null))
          + (select count(*) from job where workspace_id = ${workspaceId} and state = 'waiting' and concurrency_key is not null
            and key_slot is null) - (select waiting from executions) as waiting,
        (select count(*) from job where workspace_id = ${workspaceId} and state = 'active' and kind = 'queue') as active,
        (select count(*) from schedule where workspace_id = ${workspaceId} and not starts_with(name, 'workflow:')) as schedules,
        (select json_object_agg(status, runs) from (
          select r.status, count(*) as runs from run r
          join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id and l.deleted_at is null
          where r.workspace_id = ${workspaceId} group by r.status) by_status) as runs,
        parked.*, finished.*, held.*
      from workspace w, parked, finished, held where w.id = ${workspaceId}`,
  );
  if (!summary) throw new Error("The workspace of a valid key does not exist.");
  return summary;
}
