import { type Db, row, sql } from "#kernel";

/**
 * Folds tally rows older than two minutes into one row per lane and day, so that the table stays small. It is one statement, so sums do
 * not change. Uses index tally_at.
 */
export const foldTallyAcrossWorkspaces = (db: Db): Promise<unknown> =>
  row(
    db,
    sql`
      with crowded as (
        select workspace_id, lane_id, date_trunc('day', at) as day from tally
        where at < moment() - interval '2 minutes' and at > moment() - interval '3 days'
        group by 1, 2, 3 having count(*) > 1 limit 1000
      ), old as (
        delete from tally where ctid = any(array(
          select t.ctid from tally t join crowded c on t.workspace_id = c.workspace_id and t.lane_id = c.lane_id
            and t.at >= c.day and t.at < c.day + interval '1 day' and t.at < moment() - interval '2 minutes'
          for update of t skip locked))
        returning *
      )
      insert into tally (workspace_id, lane_id, at, completed, failed, cancelled, rejected)
      select workspace_id, lane_id, max(at), sum(completed), sum(failed), sum(cancelled), sum(rejected)
      from old group by workspace_id, lane_id, date_trunc('day', at)`,
  );

/** Deletes rows past their workspace's retention, whose jobs callers can no longer see. */
export const deleteOldTallyAcrossWorkspaces = (db: Db): Promise<unknown> =>
  row(
    db,
    sql`
      delete from tally t using workspace w
      where w.id = t.workspace_id and t.at < moment() - w.retention_days * interval '1 day'`,
  );
