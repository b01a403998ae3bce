import { type Db, row, sql } from "#kernel";

/**
 * Looks up the longest waiting job of each queue with jobs, once a minute: the first node that asks does it for all. Keeps the most of each
 * step, for the queue and for its workspace. Uses index lane_name and those of `oldest_due`.
 */
export const sampleOldestAcrossWorkspaces = (db: Db): Promise<unknown> =>
  row(
    db,
    sql`
      with turn as (
        update job_metric_sample set at = date_trunc('minute', moment()) where at < date_trunc('minute', moment()) returning at
      ), found as (
        select c.workspace_id, c.lane_id, turn.at, extract(epoch from moment() - oldest_due(c.workspace_id, c.lane_id))::real as oldest
        from turn cross join job_count c
        join lane l on l.workspace_id = c.workspace_id and l.id = c.lane_id and l.kind = 'queue' and l.deleted_at is null
        where c.live > 0
      )
      insert into job_metric (workspace_id, lane_id, span, at, oldest_seconds)
      select f.workspace_id, place.lane_id, span, date_trunc(unit, f.at), max(greatest(0, f.oldest))
      from found f cross join (values (60, 'minute'), (3600, 'hour')) step (span, unit) cross join lateral (values (f.lane_id), (0)) place (lane_id)
      where f.oldest is not null
      group by 1, 2, 3, 4 order by 1, 2, 3, 4
      on conflict (workspace_id, lane_id, span, at) do update set
        oldest_seconds = greatest(job_metric.oldest_seconds, excluded.oldest_seconds)`,
  );
