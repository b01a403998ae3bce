import type { JobState, QueueMetrics } from "@tidemill/contract";
import type { Static } from "typebox";
import { type Db, row, sql } from "#kernel";
import type { LaneKey } from "#lanes";

interface Counts extends Record<JobState, number> {
  oldest_waiting_seconds: number | null;
  completed_last_minute: number;
  failed_last_minute: number;
  p50: number | null;
  p99: number | null;
}

/**
 * A lane's metrics. The number of jobs is a stored count (docs/decisions/0037-kept-counts.md); only active ones are counted. The oldest
 * waiting job is found by one index look-up per priority, and one among the jobs that wait for their key. The latency is computed from the
 * newest 1,000 finished jobs. Uses indexes job_delta_workspace, job_claimable, job_blocked, job_active and the primary keys.
 */
export async function readLaneMetrics(db: Db, { workspaceId, laneId }: LaneKey): Promise<Static<typeof QueueMetrics>> {
  const counts = await row<Counts>(
    db,
    sql`
      with kept as (
        select coalesce(sum(live), 0)::bigint as live, coalesce(sum(delayed), 0)::bigint as delayed,
          coalesce(sum(pending_approval), 0)::bigint as pending_approval, coalesce(sum(dead), 0)::bigint as failed
        from job_count_now where workspace_id = ${workspaceId} and lane_id = ${laneId}
      ), active as (
        select active_jobs(${workspaceId}::uuid, ${laneId}::bigint) as active
      ), live as (
        select greatest(0, kept.live - active.active) as waiting, active.active, kept.delayed, kept.pending_approval, kept.failed from kept, active
      ), finished as (
        select coalesce(sum(t.completed), 0)::bigint as completed, coalesce(sum(t.cancelled), 0)::bigint as cancelled,
          coalesce(sum(t.rejected), 0)::bigint as rejected,
          coalesce(sum(t.completed) filter (where t.at > moment() - interval '1 minute'), 0)::bigint as completed_last_minute,
          coalesce(sum(t.failed) filter (where t.at > moment() - interval '1 minute'), 0)::bigint as failed_last_minute
        from tally_now t join workspace w on w.id = t.workspace_id
        where t.workspace_id = ${workspaceId} and t.lane_id = ${laneId}
          and (w.retention_days is null or t.at > moment() - w.retention_days * interval '1 day')
      ), latency as (
        select percentile_cont(array[0.5, 0.99]) within group (order by extract(epoch from finished_at - greatest(run_at, created_at)) * 1000) as ms
        from (
          select finished_at, run_at, created_at, state from job_history
          where workspace_id = ${workspaceId} and lane_id = ${laneId} and expires_at > moment()
          order by id desc limit 1000) newest
        where state = 'completed' and finished_at > moment() - interval '1 minute'
      )
      select live.*, finished.*, extract(epoch from moment() - oldest_due(${workspaceId}::uuid, ${laneId}::bigint))::float8 as oldest_waiting_seconds,
        latency.ms[1] as p50, latency.ms[2] as p99
      from live, finished, latency`,
  );
  if (!counts) throw new Error("The metrics query returned no row.");
  const { oldest_waiting_seconds, completed_last_minute, failed_last_minute, p50, p99, ...states } = counts;
  const rounded = (ms: number | null) => (ms === null ? null : Math.max(0, Math.round(ms * 10) / 10));
  return {
    ...states,
    oldest_waiting_seconds: oldest_waiting_seconds === null ? null : Math.max(0, oldest_waiting_seconds),
    completed_last_minute,
    failed_last_minute,
    latency_ms: { p50: rounded(p50), p99: rounded(p99) },
  };
}
