import { type Db, row, sql, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";

/** The last lane that a sample has visited. */
export interface SamplePosition {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
}

/**
 * Visits the next `limit` lanes that have counts (queues and workflows, even empty ones), and looks up the longest waiting job of each
 * queue among them that has live jobs. Keeps the maximum of each step, for the queue and for its workspace.
 *
 * There is one sample at a time, whose position is in `job_metric_sample`. The node that left the sample at `from` continues it. If no node
 * has continued it for a minute, another one does. When it has ended, the first node that calls this begins the sample of this minute.
 * Returns where the sample continues; null if it has ended, or is another node's. Uses indexes job_count_pkey and lane_pkey, and those of
 * `oldest_due`.
 */
export const sampleOldestAcrossWorkspaces = (db: Db, from: SamplePosition | null, limit: number): Promise<SamplePosition | null> =>
  row<SamplePosition>(
    db,
    sql`
      with sample as materialized (
        select last_workspace, last_lane, case when last_lane is null then date_trunc('minute', moment()) else at end as at
        from job_metric_sample
        where case
          when last_lane is null then at < date_trunc('minute', moment())
          else (last_workspace, last_lane) = (${from?.workspaceId ?? null}::uuid, ${from?.laneId ?? null}::bigint)
            or visited_at < moment() - interval '1 minute' end
        for update skip locked
      ), next as materialized (
        select s.at, c.* from sample s cross join lateral (
          select workspace_id, lane_id, live from job_count
          where (workspace_id, lane_id) > (coalesce(s.last_workspace, '00000000-0000-0000-0000-000000000000'), coalesce(s.last_lane, 0))
          order by workspace_id, lane_id limit ${limit}::int) c
      ), found as (
        select n.workspace_id, n.lane_id, n.at, extract(epoch from moment() - oldest_due(n.workspace_id, n.lane_id))::real as oldest
        from next n
        join lane l on l.workspace_id = any(array[n.workspace_id]) and l.id = n.lane_id and l.kind = 'queue'
          and coalesce(l.deleted_at, 'infinity') = 'infinity'
        where n.live > 0
      ), kept as (
        insert into job_metric (workspace_id, lane_id, span, at, oldest_seconds)
        select f.workspace_id, place.lane_id, span, date_trunc(unit, f.at), max(greatest(0, f.oldest))
        from found f cross join (values (60, 'minute'), (3600, 'hour')) step (span, unit) cross join lateral (values (f.lane_id), (0)) place (lane_id)
        where f.oldest is not null
        group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (workspace_id, lane_id, span, at) do update set
          oldest_seconds = greatest(job_metric.oldest_seconds, excluded.oldest_seconds)
      ), last as (
        select workspace_id, lane_id from next
        where (select count(*) from next) = ${limit} order by workspace_id desc, lane_id desc limit 1
      ), moved as (
        update job_metric_sample set at = s.at, last_workspace = last.workspace_id, last_lane = last.lane_id, visited_at = moment()
        from sample s left join last on true
      )
      select workspace_id as "workspaceId", lane_id as "laneId" from last`,
  );
