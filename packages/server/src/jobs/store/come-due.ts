import { type Db, rows, sql, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { ASSIGN_SLOTS_OF_MOVED } from "./fragments.ts";

/** What a batch moved. */
export interface MovedDue {
  readonly moved: number;
  /** Whether more jobs than a batch moves were due. */
  readonly isCrowded: boolean;
  readonly lanes: LaneKey[];
  /** When the next job is due, in milliseconds from now. Null when none is delayed. */
  readonly nextInMs: number | null;
}

/**
 * Moves delayed jobs to `waiting` when they are due, and skips those that another node has locked. When no more than `limit` are due, it
 * moves them all. When more are, each workspace with due jobs gets an equal share of the batch, so that none waits for another's
 * thousands. If there are more workspaces than `limit`, those come first whose jobs have waited longest. Uses index job_due, and
 * job_due_share for shares.
 */
export async function moveDueAcrossWorkspaces(db: Db, limit: number): Promise<MovedDue> {
  const found = await rows<{
    workspace_id: WorkspaceId | null;
    lane_id: LaneId | null;
    jobs: number;
    next_ms: number | null;
    crowded: boolean;
  }>(
    db,
    sql`
      with recursive crowd as materialized (
        select exists (
          select from job where state = 'delayed' and run_at <= moment() order by run_at offset ${limit}::int limit 1) as crowded
      ), earliest as (
        (select workspace_id, run_at from job
          where state = 'delayed' and (select crowded from crowd)
          order by workspace_id, run_at limit 1)
        union all
        select next.workspace_id, next.run_at from earliest cross join lateral (
          select workspace_id, run_at from job where state = 'delayed' and workspace_id > earliest.workspace_id
          order by workspace_id, run_at limit 1) next
      ), turn as (
        select workspace_id, greatest(1, ${limit}::int / count(*) over ()) as share from earliest
        where run_at <= moment() order by run_at limit ${limit}::int
      ), shared as (
        select j.workspace_id, j.lane_id, j.id from turn cross join lateral (
          select workspace_id, lane_id, id from job
          where workspace_id = turn.workspace_id and state = 'delayed' and run_at <= moment()
          order by run_at limit turn.share for update skip locked) j
      ), uncrowded as (
        select workspace_id, lane_id, id from job where state = 'delayed' and run_at <= moment() and not (select crowded from crowd)
        order by run_at limit ${limit}::int for update skip locked
      ), due as (
        select * from uncrowded union all select * from shared
      ), moved as (
        update job j set state = 'waiting' from due
        where j.workspace_id = any(array[due.workspace_id]) and j.lane_id = due.lane_id and j.id = due.id
        returning j.workspace_id, j.lane_id, j.concurrency_key
      )
      select workspace_id, lane_id, count(*) as jobs, null::float8 as next_ms, false as crowded,
        ${ASSIGN_SLOTS_OF_MOVED} as assigned
      from moved group by workspace_id, lane_id
      union all
      (select null, null, 0, (extract(epoch from run_at - moment()) * 1000)::float8, false, null from job
        where state = 'delayed' and run_at > moment() order by run_at limit 1)
      union all
      (select null, null, 0, null, true, null from crowd where crowded)`,
  );
  return {
    moved: found.reduce((sum, { jobs }) => sum + jobs, 0),
    isCrowded: found.some(({ crowded }) => crowded),
    lanes: found.flatMap(({ workspace_id, lane_id }) => (workspace_id && lane_id ? [{ workspaceId: workspace_id, laneId: lane_id }] : [])),
    nextInMs: found.find(({ next_ms }) => next_ms !== null)?.next_ms ?? null,
  };
}
