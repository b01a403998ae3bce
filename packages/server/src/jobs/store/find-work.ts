import { type Db, Fragment, fragment, plainArray, rows, sql, type WorkspaceId } from "#kernel";
import { DELIVERING_PLANS, type LaneId, type LaneKey } from "#lanes";
import { CLAIMABLE } from "./fragments.ts";

/** Workspaces that one scan visits, including those without work. */
const MAX_WORKSPACE_STEPS = 200;
/** Lanes that one scan visits. Each workspace gets an equal share. */
export const MAX_LANE_STEPS = 1_000;

/** How far earlier scans came. The next one continues from there. */
export interface ScanPosition {
  /** The workspace at which the previous scan ended. Null: it came to the end. */
  readonly afterWorkspace: WorkspaceId | null;
  /** Whether that workspace was visited. If not, the next scan begins with it. */
  readonly wasVisited: boolean;
  /** The last lane that was visited in each workspace with more lanes than its share. */
  readonly afterLanes: ReadonlyMap<WorkspaceId, LaneId>;
}

export const FROM_THE_START: ScanPosition = { afterWorkspace: null, wasVisited: false, afterLanes: new Map() };

const NO_WORKSPACE = fragment`'00000000-0000-0000-0000-000000000000'::uuid`;
const NO_LANE = fragment`0`;
const LAST_LANE = fragment`9223372036854775807`;
const DELIVERS = new Fragment(`w.plan = any('${DELIVERING_PLANS}'::text[])`);

/** The first lane after the row `walk` that nodes serve and that is not paused, if there is one. Uses index lane_served. */
const NEXT_SERVED = fragment`
  select served, workspace_id, id from lane
  where not paused and deleted_at is null and (served, workspace_id, id) > ('push', walk.workspace_id, walk.lane_id)
  order by served, workspace_id, id limit 1`;

/**
 * Walks over the workspaces that have both lanes that nodes serve and claimable jobs, after the row of CTE `origin` and in at most its
 * `steps`. It alternates between the two indexes: each step goes to the next workspace with served lanes, and from there to the next one
 * with claimable jobs. So neither jobs that nobody serves nor lanes without jobs are read one by one. `found` is a workspace that has both.
 * Uses indexes lane_served and job_claimable.
 */
const WALK_WORKSPACES = fragment`
  walk as (
    select 0 as step, workspace_id, lane_id, null::uuid as found from origin
    union all
    select walk.step + 1, case when next.is_behind then next.job_workspace_id else next.workspace_id end,
      case when next.is_behind then ${NO_LANE} else ${LAST_LANE} end, next.found
    from walk cross join lateral (
      select l.workspace_id, j.workspace_id as job_workspace_id, w.delivers and j.workspace_id <> l.workspace_id as is_behind,
        case when w.delivers and j.workspace_id = l.workspace_id then l.workspace_id end as found
      from (${NEXT_SERVED}) l
      cross join lateral (select ${DELIVERS} as delivers from workspace w where w.id = l.workspace_id offset 0) w
      cross join lateral (
        select workspace_id from job where ${CLAIMABLE} and (workspace_id, lane_id) > (l.workspace_id, ${NO_LANE})
        order by workspace_id, lane_id limit 1) j
      where l.served = 'push'
    ) next
    where walk.step < (select steps from origin)
  )`;

/** How many look-ups a poll makes. After that, the scan itself has to find out whether there is work. */
const POLL_STEPS = fragment`20`;

/**
 * Selects the present time if a workspace has claimable jobs and lanes that nodes serve. It reads a few index entries, however many jobs
 * wait in lanes that nodes do not serve.
 */
export const WORK_MAY_WAIT = fragment`
  with recursive origin as (select ${NO_WORKSPACE} as workspace_id, ${NO_LANE}::bigint as lane_id, ${POLL_STEPS} as steps), ${WALK_WORKSPACES}
  select moment() from walk where found is not null or step = ${POLL_STEPS} limit 1`;

/** A lane with work, the last visited lane of a workspace with more, or the workspace at which the scan ended. */
type Found = { workspace_id: WorkspaceId; lane_id: LaneId | null; after_lane: LaneId | null; is_visited: boolean | null };

/**
 * Finds lanes served by nodes that have claimable jobs, free slots and free starts. A lane whose circuit is open is included when its next
 * probe is due. A scan visits a limited number of workspaces and, in each, a limited number of lanes; `next` is where to continue, and
 * `FROM_THE_START` if all were visited. In a workspace the scan alternates between indexes lane_served and job_claimable
 * (`WALK_WORKSPACES`), and reads one entry of each per step, however many jobs wait.
 */
export async function findLanesWithWorkAcrossWorkspaces(
  db: Db,
  position: ScanPosition = FROM_THE_START,
): Promise<{ lanes: LaneKey[]; next: ScanPosition }> {
  const { afterWorkspace, wasVisited, afterLanes } = position;
  const found = await rows<Found>(
    db,
    sql`
      with recursive origin as (
        select coalesce(${afterWorkspace}, ${NO_WORKSPACE}) as workspace_id, case when ${wasVisited} then ${LAST_LANE} else ${NO_LANE} end as lane_id,
          ${MAX_WORKSPACE_STEPS}::int as steps
      ), ${WALK_WORKSPACES}, tenant as (
        select found as id, greatest(1, ${MAX_LANE_STEPS}::int / count(*) over ()) as steps from walk where found is not null
      ), visited as (
        select tenant.id as workspace_id, v.lane_id, v.found, v.step = tenant.steps as is_last
        from tenant cross join lateral (
          with recursive walk as (
            select 0 as step, tenant.id as workspace_id, null::bigint as found, coalesce((
              select p.lane_id from unnest(${plainArray([...afterLanes.keys()])}::uuid[], ${plainArray([...afterLanes.values()])}::bigint[])
                p (workspace_id, lane_id) where p.workspace_id = tenant.id), ${NO_LANE}) as lane_id
            union all
            select walk.step + 1, walk.workspace_id, next.found, next.lane_id
            from walk cross join lateral (
              select case when j.lane_id = l.id then l.id end as found, case when j.lane_id = l.id then l.id else j.lane_id - 1 end as lane_id
              from (${NEXT_SERVED}) l
              cross join lateral (
                select workspace_id, lane_id from job where ${CLAIMABLE} and (workspace_id, lane_id) >= (l.workspace_id, l.id)
                order by workspace_id, lane_id limit 1) j
              where l.served = 'push' and l.workspace_id = tenant.id and j.workspace_id = tenant.id
            ) next
            where walk.step < tenant.steps
          )
          select step, found, lane_id from walk
        ) v
      )
      select v.workspace_id, v.found as lane_id, null::bigint as after_lane, null::boolean as is_visited from visited v
      cross join lateral (
        select * from lane_gate g where g.workspace_id = v.workspace_id and g.lane_id = v.found offset 0
      ) g
      where v.found is not null and not g.paused and g.served = 'push'
        and g.slots_free is distinct from 0 and g.starts_free is distinct from 0
        and not exists (select from circuit c where c.workspace_id = v.workspace_id and c.lane_id = v.found and c.probe_at > moment())
      union all
      select workspace_id, null, lane_id, null from visited where is_last
      union all
      select workspace_id, null, null, lane_id > ${NO_LANE} from walk where step = ${MAX_WORKSPACE_STEPS}::int`,
  );
  return {
    lanes: found.flatMap(({ workspace_id, lane_id }) => (lane_id === null ? [] : [{ workspaceId: workspace_id, laneId: lane_id }])),
    next: positionAfter(found, position),
  };
}

/** Workspaces that this scan did not visit keep their position. */
function positionAfter(found: readonly Found[], before: ScanPosition): ScanPosition {
  const end = found.find(({ is_visited }) => is_visited !== null);
  const afterWorkspace = end?.workspace_id ?? null;
  const wasVisited = end?.is_visited ?? false;
  const isVisited = (id: WorkspaceId) =>
    !isBefore(id, before.afterWorkspace, before.wasVisited) && (!end || isBefore(id, afterWorkspace, wasVisited));
  const kept = [...before.afterLanes].filter(([id]) => !isVisited(id));
  const cut = found.flatMap(({ workspace_id, after_lane }) => (after_lane === null ? [] : [[workspace_id, after_lane] as const]));
  return { afterWorkspace, wasVisited, afterLanes: new Map([...kept, ...cut]) };
}

/** Whether a scan that ended at `end` has passed the workspace. */
const isBefore = (id: WorkspaceId, end: WorkspaceId | null, wasEndVisited: boolean): boolean =>
  end !== null && (id < end || (id === end && wasEndVisited));
