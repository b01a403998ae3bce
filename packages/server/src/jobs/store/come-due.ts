import { type Db, fragment, type JobId, plainArray, row, rows, sql, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { COUNT_DUE } from "./counts.ts";
import { ASSIGN_SLOTS_OF_MOVED, movableOf } from "./fragments.ts";

const MOVABLE_DUE = movableOf(fragment`due`, fragment`false`);

/** The advisory lock of the node that moves jobs while more are due than a batch moves. */
const CROWD_LOCK = 7305512041;

/** Where the next batch continues when more jobs are due than one batch moves. */
export interface DuePosition {
  /** The last workspace that was visited. Null: the visit begins with the first one. */
  readonly afterWorkspace: WorkspaceId | null;
  /** Workspaces that used up their share. They take part in the next batch, whichever workspaces it visits. */
  readonly unfinished: readonly WorkspaceId[];
}

export const FIRST_DUE: DuePosition = { afterWorkspace: null, unfinished: [] };

/** Jobs of a lane that are due, but whose concurrency keys other transactions have locked. */
export interface LeftDue extends LaneKey {
  readonly ids: readonly JobId[];
}

/** What a batch moved. */
export interface MovedDue {
  readonly moved: number;
  /** Whether more jobs than a batch moves were due. */
  readonly isCrowded: boolean;
  /** Whether another node was moving a batch of them. Then this node moved none. */
  readonly isLocked: boolean;
  readonly next: DuePosition;
  readonly lanes: LaneKey[];
  readonly left: readonly LeftDue[];
  /** When the next job is due, in milliseconds from now. Null when none is delayed. */
  readonly nextInMs: number | null;
}

/**
 * Moves delayed jobs to `waiting` when they are due, and skips those that another node has locked. When no more than `limit` are due, it
 * moves them all. When more are due, one node at a time moves them: two would put twice the load on the database. It visits the next
 * workspaces with delayed jobs, half as many as `limit`. The visited workspaces with due jobs and the unfinished ones get equal shares of
 * the batch, so that none waits for thousands of jobs of another. Uses index job_due, and job_due_share for shares.
 *
 * It does not wait for concurrency keys that others have locked, because jobs of all workspaces would have to wait, too. It leaves the jobs
 * of these keys.
 *
 * Its commit does not wait for the disk. After a crash, jobs that it moved are delayed and due again, unless a claim, whose commit waits, has
 * made them durable.
 */
export async function moveDueAcrossWorkspaces(
  db: Db,
  limit: number,
  { afterWorkspace, unfinished }: DuePosition = FIRST_DUE,
): Promise<MovedDue> {
  const maxWorkspaces = Math.max(1, limit >> 1);
  const found = await rows<{
    workspace_id: WorkspaceId | null;
    lane_id: LaneId | null;
    jobs: number;
    next_ms: number | null;
    /** The share of each workspace. Null when no more than `limit` are due. */
    share: number | null;
    mine: boolean | null;
    visited: WorkspaceId | null;
    locked: JobId[] | null;
  }>(
    db,
    sql`
      with recursive crowd as materialized (
        select crowded, case when crowded then pg_try_advisory_xact_lock(${CROWD_LOCK}) else false end as mine,
          set_config('synchronous_commit', 'off', true) as committed
        from (
          select exists (select from job where state = 'delayed' and run_at <= moment() order by run_at offset ${limit}::int limit 1) as crowded
        ) due
      ), earliest as (
        (select 1 as step, workspace_id, run_at from job
          where state = 'delayed' and workspace_id > coalesce(${afterWorkspace}, '00000000-0000-0000-0000-000000000000'::uuid)
            and (select mine from crowd)
          order by workspace_id, run_at limit 1)
        union all
        select step + 1, next.workspace_id, next.run_at from earliest cross join lateral (
          select workspace_id, run_at from job where state = 'delayed' and workspace_id > earliest.workspace_id
          order by workspace_id, run_at limit 1) next
        where step < ${maxWorkspaces}::int
      ), turn as (
        select workspace_id, greatest(1, ${limit}::int / count(*) over ()) as share from (
          select workspace_id from earliest where run_at <= moment()
          union select id from unnest(${plainArray(unfinished)}::uuid[]) w (id) where (select mine from crowd)) w
      ), shared as (
        select j.workspace_id, j.lane_id, j.id, j.concurrency_key from turn cross join lateral (
          select workspace_id, lane_id, id, concurrency_key from job
          where workspace_id = any(array[turn.workspace_id]) and state = 'delayed' and run_at <= moment()
          order by workspace_id, run_at limit turn.share for update skip locked) j
      ), uncrowded as (
        select workspace_id, lane_id, id, concurrency_key from job where state = 'delayed' and run_at <= moment() and not (select crowded from crowd)
        order by run_at limit ${limit}::int for update skip locked
      ), due as (
        select * from uncrowded union all select * from shared
      ), ${MOVABLE_DUE}, moved as (
        update job j set state = 'waiting' from movable due
        where j.workspace_id = any(array[due.workspace_id]) and j.lane_id = due.lane_id and j.id = due.id
        returning j.workspace_id, j.lane_id, j.concurrency_key
      ), tallied as (
        ${COUNT_DUE}
      )
      select workspace_id, lane_id, count(*) as jobs, null::float8 as next_ms, null::bigint as share, null::boolean as mine, null::uuid as visited,
        null::uuid[] as locked, ${ASSIGN_SLOTS_OF_MOVED} as assigned
      from moved group by workspace_id, lane_id
      union all
      (select null, null, 0, (extract(epoch from run_at - moment()) * 1000)::float8, null, null, null, null, null from job
        where state = 'delayed' and run_at > moment() order by run_at limit 1)
      union all
      (select null, null, 0, null, coalesce((select min(share) from turn), 1), mine,
        (select workspace_id from earliest where step = ${maxWorkspaces}::int), null, null from crowd where crowded)
      union all
      (select workspace_id, lane_id, 0, null, null, null, null, array_agg(id), null from locked
        group by workspace_id, lane_id)`,
  );
  const crowd = found.find(({ share }) => share !== null);
  const isLocked = crowd !== undefined && !crowd.mine;
  const lanes: LaneKey[] = [];
  const left: LeftDue[] = [];
  for (const { workspace_id: workspaceId, lane_id: laneId, locked: ids } of found) {
    if (workspaceId === null || laneId === null) continue;
    if (ids) left.push({ workspaceId, laneId, ids });
    else lanes.push({ workspaceId, laneId });
  }
  return {
    moved: found.reduce((sum, { jobs }) => sum + jobs, 0),
    isCrowded: crowd !== undefined,
    isLocked,
    next: !crowd
      ? FIRST_DUE
      : isLocked
        ? { afterWorkspace, unfinished }
        : { afterWorkspace: crowd.visited, unfinished: unfinishedOf(found, crowd.share ?? 1).slice(0, maxWorkspaces) },
    lanes,
    left,
    nextInMs: found.find(({ next_ms }) => next_ms !== null)?.next_ms ?? null,
  };
}

/** Moves jobs that were left, if they are still due, and waits for their keys. Returns how many. Uses the primary key. */
export const moveLeftDue = async (db: Db, { workspaceId, laneId, ids }: LeftDue): Promise<number> =>
  (
    await row<{ jobs: number }>(
      db,
      sql`
        with due as (
          select id from job
          where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = any(${plainArray(ids)}::uuid[]) and state = 'delayed' and run_at <= moment()
          order by id for update skip locked
        ), moved as (
          update job set state = 'waiting'
          where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = any(array(select id from due))
          returning workspace_id, lane_id, concurrency_key
        ), tallied as (
          ${COUNT_DUE}
        )
        select count(*)::int as jobs, ${ASSIGN_SLOTS_OF_MOVED} as assigned from moved`,
    )
  )?.jobs ?? 0;

/** The workspaces that used up their share. */
function unfinishedOf(found: readonly { workspace_id: WorkspaceId | null; jobs: number }[], share: number): WorkspaceId[] {
  const moved = new Map<WorkspaceId, number>();
  for (const { workspace_id, jobs } of found) if (workspace_id) moved.set(workspace_id, (moved.get(workspace_id) ?? 0) + jobs);
  return [...moved].filter(([, jobs]) => jobs >= share).map(([id]) => id);
}
