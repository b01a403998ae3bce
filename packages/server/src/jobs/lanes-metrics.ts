import type { JobState, QueueMetrics } from "@tidemill/contract";
import type { Static } from "typebox";
import { type Db, plainArray, rows, sql, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { quantileOf } from "./histogram.ts";

interface Row extends Record<JobState, number> {
  id: LaneId;
  oldest_waiting_seconds: number | null;
  completed_last_minute: number;
  failed_last_minute: number;
  /** Latency buckets of the jobs that completed in the last minute or two: JSON arrays, each inside another array. */
  histograms: string[];
}

/**
 * The metrics of the lanes of a page. All but active jobs and the longest wait are stored counts. Latencies come from the histograms of
 * this minute and of the one before. Uses the primary keys, indexes job_delta_workspace and tally_lane, and those of `active_jobs` and
 * `oldest_due`.
 */
export async function readMetricsOfLanes(
  db: Db,
  workspaceId: WorkspaceId,
  laneIds: readonly LaneId[],
): Promise<Map<LaneId, Static<typeof QueueMetrics>>> {
  const found = await rows<Row>(
    db,
    sql`
      with kept as (
        select lane_id, sum(live)::bigint as live, sum(delayed)::bigint as delayed, sum(pending_approval)::bigint as pending_approval,
          sum(dead)::bigint as failed
        from job_count_now where workspace_id = ${workspaceId} and lane_id = any(${plainArray(laneIds)}::bigint[]) group by lane_id
      ), finished as (
        select t.lane_id, sum(t.completed)::bigint as completed, sum(t.cancelled)::bigint as cancelled, sum(t.rejected)::bigint as rejected,
          coalesce(sum(t.completed) filter (where t.at > moment() - interval '1 minute'), 0)::bigint as completed_last_minute,
          coalesce(sum(t.failed) filter (where t.at > moment() - interval '1 minute'), 0)::bigint as failed_last_minute
        from tally_now t join workspace w on w.id = t.workspace_id
        where t.workspace_id = ${workspaceId} and t.lane_id = any(${plainArray(laneIds)}::bigint[])
          and (w.retention_days is null or t.at > moment() - w.retention_days * interval '1 day')
        group by t.lane_id
      ), latencies as (
        select lane_id, array_agg('[' || array_to_string(latencies, ',') || ']') as histograms from job_metric_now
        where workspace_id = ${workspaceId} and lane_id = any(${plainArray(laneIds)}::bigint[]) and span in (0, 60)
          and at > date_trunc('minute', moment()) - interval '61 seconds' and latencies <> '{}'
        group by lane_id
      )
      select l.id, greatest(0, coalesce(k.live, 0) - a.active) as waiting, a.active, coalesce(k.delayed, 0) as delayed,
        coalesce(k.pending_approval, 0) as pending_approval, coalesce(k.failed, 0) as failed, coalesce(f.completed, 0) as completed,
        coalesce(f.cancelled, 0) as cancelled, coalesce(f.rejected, 0) as rejected,
        coalesce(f.completed_last_minute, 0) as completed_last_minute, coalesce(f.failed_last_minute, 0) as failed_last_minute,
        case when k.live > 0 then extract(epoch from moment() - oldest_due(${workspaceId}::uuid, l.id))::float8 end as oldest_waiting_seconds,
        coalesce(h.histograms, '{}') as histograms
      from unnest(${plainArray(laneIds)}::bigint[]) l (id)
      cross join lateral (select case when k0.live > 0 then active_jobs(${workspaceId}::uuid, l.id) else 0 end as active
        from (select (select live from kept where lane_id = l.id) as live offset 0) k0) a
      left join kept k on k.lane_id = l.id left join finished f on f.lane_id = l.id left join latencies h on h.lane_id = l.id`,
  );
  return new Map(found.map((row) => [row.id, show(row)]));
}

function show({ id: _, histograms, oldest_waiting_seconds, ...counts }: Row): Static<typeof QueueMetrics> {
  const sum = sumOf(histograms.map((text) => JSON.parse(text) as number[]));
  return {
    ...counts,
    oldest_waiting_seconds: oldest_waiting_seconds === null ? null : Math.max(0, oldest_waiting_seconds),
    latency_ms: { p50: quantileOf(sum, 0.5), p99: quantileOf(sum, 0.99) },
  };
}

const sumOf = (histograms: readonly (readonly number[])[]): number[] => {
  const length = histograms.reduce((most, one) => Math.max(most, one.length), 0);
  return Array.from({ length }, (_, bucket) => histograms.reduce((sum, one) => sum + (one[bucket] ?? 0), 0));
};
