import { type Db, row, sql } from "#kernel";

/** The maximum number of rows in one statement. */
const CHUNK = 5_000;

/**
 * Moves rows of `job_delta` into the sums of `job_count`, into `tally`, and into the metrics of queues. One statement does all of this, so
 * totals never change. Nodes that fold at the same time take different rows, and add to sums in the same order. Rows of lanes that are gone
 * are dropped.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export const foldCountsAcrossWorkspaces = async (db: Db): Promise<number | undefined> => ((await foldSome(db)) === CHUNK ? 0 : undefined);

const foldSome = async (db: Db): Promise<number> =>
  (
    await row<{ folded: number }>(
      db,
      sql`
        with taken as (
          delete from job_delta where ctid = any(array(select ctid from job_delta limit ${CHUNK} for update skip locked))
          returning *
        ), gone as (
          select d.*, l.kind, date_trunc('minute', d.at) as minute
          from (select * from taken order by workspace_id, lane_id) d cross join lateral (
            select kind from lane where lane.workspace_id = d.workspace_id and lane.id = d.lane_id for key share) l
        ), counted as (
          insert into job_count (workspace_id, lane_id, live, delayed, pending_approval, dead)
          select workspace_id, lane_id, sum(live), sum(delayed), sum(pending_approval), sum(dead)
          from gone group by workspace_id, lane_id order by workspace_id, lane_id
          on conflict (workspace_id, lane_id) do update set
            live = job_count.live + excluded.live, delayed = job_count.delayed + excluded.delayed,
            pending_approval = job_count.pending_approval + excluded.pending_approval, dead = job_count.dead + excluded.dead
        ), tallied as (
          insert into tally (workspace_id, lane_id, at, completed, failed, cancelled, rejected)
          select workspace_id, lane_id, max(at), sum(completed), sum(failed), sum(cancelled), sum(rejected)
          from gone where completed <> 0 or failed <> 0 or cancelled <> 0 or rejected <> 0
          group by workspace_id, lane_id, date_trunc('second', at)
        ), minutes as (
          select workspace_id, lane_id, minute, null::smallint as bucket, 0::bigint as jobs, sum(enqueued) as enqueued,
            sum(greatest(completed, 0)) as completed, sum(failed) as failed, sum(retried) as retried
          from gone where kind = 'queue' and (enqueued > 0 or completed > 0 or failed > 0 or retried > 0)
          group by 1, 2, 3
          union all
          select workspace_id, lane_id, minute, bucket, count(*), 0, 0, 0, 0
          from gone cross join unnest(latencies) bucket where kind = 'queue' group by 1, 2, 3, 4
        ), by_bucket as (
          select m.workspace_id, place.lane_id, span, date_trunc(unit, m.minute) as at, bucket, sum(jobs) as jobs, sum(enqueued) as enqueued,
            sum(completed) as completed, sum(failed) as failed, sum(retried) as retried
          from minutes m cross join (values (60, 'minute'), (3600, 'hour')) step (span, unit) cross join lateral (values (m.lane_id), (0)) place (lane_id)
          group by 1, 2, 3, 4, 5
        ), measured as (
          insert into job_metric (workspace_id, lane_id, span, at, enqueued, completed, failed, retried, latencies)
          select workspace_id, lane_id, span, at, sum(enqueued), sum(completed), sum(failed), sum(retried),
            histogram(array_agg(bucket order by bucket) filter (where bucket is not null), array_agg(jobs order by bucket) filter (where bucket is not null))
          from by_bucket group by workspace_id, lane_id, span, at order by workspace_id, lane_id, span, at
          on conflict (workspace_id, lane_id, span, at) do update set
            enqueued = job_metric.enqueued + excluded.enqueued, completed = job_metric.completed + excluded.completed,
            failed = job_metric.failed + excluded.failed, retried = job_metric.retried + excluded.retried,
            latencies = add_histograms(job_metric.latencies, excluded.latencies)
        )
        select count(*) as folded from taken`,
    )
  )?.folded ?? 0;
