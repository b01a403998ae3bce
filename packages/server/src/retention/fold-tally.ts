import { type Db, row, sql } from "#kernel";

/**
 * Adds up tally rows older than two minutes into one per lane and day, so that the table stays as small as the number of
 * lanes whatever finishes. Sums are the same before and after: it is one statement.
 */
export const foldTallyAcrossWorkspaces = (db: Db): Promise<unknown> =>
  row(
    db,
    sql`
      with old as (
        delete from tally where ctid = any(array(
          select ctid from tally where at < moment() - interval '2 minutes' and at <> date_trunc('day', at)
          limit 10000 for update skip locked))
        returning *
      )
      insert into tally (workspace_id, lane_id, at, completed, failed, cancelled, rejected)
      select workspace_id, lane_id, date_trunc('day', at), sum(completed), sum(failed), sum(cancelled), sum(rejected)
      from old group by workspace_id, lane_id, date_trunc('day', at)`,
  );
