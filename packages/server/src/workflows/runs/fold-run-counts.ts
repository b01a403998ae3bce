import { type Db, row, sql } from "#kernel";

/** The maximum number of rows in one statement. */
const CHUNK = 20_000;

/**
 * Moves rows of `run_delta` into the sums of `run_count`, in one statement, so that totals never change. Nodes that fold at the same time
 * take different rows. Rows of lanes that are gone are dropped.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export const foldRunCountsAcrossWorkspaces = async (db: Db): Promise<number | undefined> =>
  (await foldSome(db)) === CHUNK ? 0 : undefined;

const foldSome = async (db: Db): Promise<number> =>
  (
    await row<{ folded: number }>(
      db,
      sql`
        with gone as (
          delete from run_delta where ctid = any(array(select ctid from run_delta limit ${CHUNK} for update skip locked))
          returning *
        ), summed as (
          select workspace_id, lane_id, status, sum(runs) as runs from gone group by 1, 2, 3 having sum(runs) <> 0
        ), folded as (
          insert into run_count (workspace_id, lane_id, status, runs)
          select s.workspace_id, s.lane_id, s.status, s.runs
          from (select * from summed order by workspace_id, lane_id, status) s cross join lateral (
            select from lane where lane.workspace_id = s.workspace_id and lane.id = s.lane_id for key share) l
          on conflict (workspace_id, lane_id, status) do update set runs = run_count.runs + excluded.runs
        )
        select count(*) as folded from gone`,
    )
  )?.folded ?? 0;
