import { type Db, row, sql } from "#kernel";

/** The maximum number of rows in one statement. */
const CHUNK = 20_000;

/**
 * Moves rows of `usage_delta` into the sums of `usage_day`. One statement does both, so totals never change. Nodes that fold at the
 * same time take different rows.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export const foldUsageAcrossWorkspaces = async (db: Db): Promise<number | undefined> => ((await foldSome(db)) === CHUNK ? 0 : undefined);

const foldSome = async (db: Db): Promise<number> =>
  (
    await row<{ folded: number }>(
      db,
      sql`
        with gone as (
          delete from usage_delta where ctid = any(array(select ctid from usage_delta limit ${CHUNK} for update skip locked))
          returning *
        ), summed as (
          select workspace_id, at::date as day, lane_id, sum(jobs) as jobs, sum(schedules) as schedules, sum(workflows) as workflows,
            sum(succeeded) as succeeded, sum(failed) as failed
          from gone group by 1, 2, 3
        ), folded as (
          insert into usage_day (workspace_id, day, lane_id, queue, jobs, schedules, workflows, succeeded, failed)
          select s.workspace_id, s.day, s.lane_id, l.name, s.jobs, s.schedules, s.workflows, s.succeeded, s.failed
          from summed s left join lane l on l.workspace_id = s.workspace_id and l.id = s.lane_id
          order by s.workspace_id, s.day, s.lane_id
          on conflict (workspace_id, day, lane_id) do update set
            queue = coalesce(usage_day.queue, excluded.queue), jobs = usage_day.jobs + excluded.jobs,
            schedules = usage_day.schedules + excluded.schedules, workflows = usage_day.workflows + excluded.workflows,
            succeeded = usage_day.succeeded + excluded.succeeded, failed = usage_day.failed + excluded.failed
        )
        select count(*) as folded from gone`,
    )
  )?.folded ?? 0;

/** Deletes usage that is more than two years old, which no bill needs any more. */
export const deleteOldUsageAcrossWorkspaces = (db: Db): Promise<unknown> =>
  row(db, sql`delete from usage_day where day < (moment() - interval '25 months')::date`);
