import { type Db, row, sql, type Timestamp, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";

/** Where a sample goes on: its minute, and the last queue that it has visited. */
export interface SamplePosition {
  readonly at: Timestamp;
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
}

/**
 * Looks up the longest waiting job of each of the next `limit` queues with jobs. Keeps the most of each step, for the queue and for its
 * workspace. Without a position it begins the sample of this minute, unless another node has. Returns where the sample goes on, or null. Uses
 * indexes job_count_pkey and lane_pkey, and those of `oldest_due`.
 */
export const sampleOldestAcrossWorkspaces = (db: Db, from: SamplePosition | null, limit: number): Promise<SamplePosition | null> =>
  row<SamplePosition>(
    db,
    sql`
      with turn as (
        update job_metric_sample set at = date_trunc('minute', moment())
        where ${from?.at ?? null}::timestamptz is null and at < date_trunc('minute', moment()) returning at
      ), minute as (
        select at from turn union all select at from (values (${from?.at ?? null}::timestamptz)) under_way (at) where at is not null
      ), next as materialized (
        select minute.at, c.* from minute cross join lateral (
          select workspace_id, lane_id, live from job_count
          where (workspace_id, lane_id) > (
            coalesce(${from?.workspaceId ?? null}::uuid, '00000000-0000-0000-0000-000000000000'), coalesce(${from?.laneId ?? null}::bigint, 0))
          order by workspace_id, lane_id limit ${limit}::int) c
      ), found as (
        select n.workspace_id, n.lane_id, n.at, extract(epoch from moment() - oldest_due(n.workspace_id, n.lane_id))::real as oldest
        from next n
        join lane l on l.workspace_id = n.workspace_id and l.id = n.lane_id and l.kind = 'queue' and l.deleted_at is null
        where n.live > 0
      ), kept as (
        insert into job_metric (workspace_id, lane_id, span, at, oldest_seconds)
        select f.workspace_id, place.lane_id, span, date_trunc(unit, f.at), max(greatest(0, f.oldest))
        from found f cross join (values (60, 'minute'), (3600, 'hour')) step (span, unit) cross join lateral (values (f.lane_id), (0)) place (lane_id)
        where f.oldest is not null
        group by 1, 2, 3, 4 order by 1, 2, 3, 4
        on conflict (workspace_id, lane_id, span, at) do update set
          oldest_seconds = greatest(job_metric.oldest_seconds, excluded.oldest_seconds)
      )
      select at, workspace_id as "workspaceId", lane_id as "laneId" from next
      where (select count(*) from next) = ${limit} order by workspace_id desc, lane_id desc limit 1`,
  );
