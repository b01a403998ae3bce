import { type Db, rows, sql, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { ASSIGN_SLOTS_OF_MOVED } from "./fragments.ts";

/**
 * Moves delayed jobs to `waiting` when they are due. `nextInMs` is when the next one is due, in milliseconds from now; null when none is
 * delayed. Uses index job_due.
 */
export async function moveDueAcrossWorkspaces(
  db: Db,
  limit: number,
): Promise<{ moved: number; lanes: LaneKey[]; nextInMs: number | null }> {
  const found = await rows<{ workspace_id: WorkspaceId | null; lane_id: LaneId | null; jobs: number; next_ms: number | null }>(
    db,
    sql`
      with due as (
        select workspace_id, lane_id, id from job where state = 'delayed' and run_at <= moment()
        order by run_at limit ${limit} for update skip locked
      ), moved as (
        update job j set state = 'waiting' from due
        where j.workspace_id = any(array[due.workspace_id]) and j.lane_id = due.lane_id and j.id = due.id
        returning j.workspace_id, j.lane_id, j.concurrency_key
      )
      select workspace_id, lane_id, count(*) as jobs, null::float8 as next_ms, ${ASSIGN_SLOTS_OF_MOVED} as assigned
      from moved group by workspace_id, lane_id
      union all
      (select null, null, 0, (extract(epoch from run_at - moment()) * 1000)::float8, null from job
        where state = 'delayed' and run_at > moment() order by run_at limit 1)`,
  );
  const lanes = found.flatMap(({ workspace_id, lane_id }) =>
    workspace_id && lane_id ? [{ workspaceId: workspace_id, laneId: lane_id }] : [],
  );
  return {
    moved: found.reduce((sum, { jobs }) => sum + jobs, 0),
    lanes,
    nextInMs: found.find(({ next_ms }) => next_ms !== null)?.next_ms ?? null,
  };
}
