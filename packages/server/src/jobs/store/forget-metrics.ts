import { type Db, rows, sql } from "#kernel";

/** The maximum number of rows in one statement. */
const CHUNK = 10_000;

/**
 * Deletes expired metrics: minutes after some days, hours after the retention of the workspace's plan.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export const deleteOldMetricsAcrossWorkspaces = async (db: Db, minuteDays: number): Promise<number | undefined> =>
  (await forgetMinutes(db, minuteDays)) === CHUNK || (await forgetHours(db)) === CHUNK ? 0 : undefined;

/** Uses index job_metric_age. */
const forgetMinutes = async (db: Db, days: number): Promise<number> =>
  (
    await rows(
      db,
      sql`
        delete from job_metric where ctid = any(array(
          select ctid from job_metric where span = 60 and at < moment() - ${days} * interval '1 day'
          order by span, at limit ${CHUNK} for update skip locked))
        returning span`,
    )
  ).length;

/**
 * Looks for the oldest hours of each queue, by the primary key. Plans keep hours for different times, so an index by time would begin with
 * hours that some plans still keep.
 */
const forgetHours = async (db: Db): Promise<number> =>
  (
    await rows(
      db,
      sql`
        delete from job_metric where ctid = any(array(
          select m.ctid from workspace w
          cross join lateral (select 0::bigint as id union all select lane.id from lane where lane.workspace_id = w.id and lane.kind = 'queue') l
          cross join lateral (
            select ctid from job_metric
            where workspace_id = w.id and lane_id = l.id and span = 3600 and at < moment() - w.retention_days * interval '1 day'
            offset 0 for update skip locked) m
          where w.retention_days is not null limit ${CHUNK}))
        returning span`,
    )
  ).length;
