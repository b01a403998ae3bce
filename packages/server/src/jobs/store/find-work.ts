import { type Db, rows, sql, type WorkspaceId } from "#kernel";
import { DELIVERING_PLANS, type LaneId, type LaneKey } from "#lanes";
import { CLAIMABLE } from "./fragments.ts";

/**
 * Finds the lanes served by nodes that have claimable jobs, free slots and free starts. It reads one index entry per lane, however many
 * jobs wait. A lane whose circuit is open is included when its next probe is due. Uses index job_claimable.
 */
export const findLanesWithWorkAcrossWorkspaces = async (db: Db): Promise<LaneKey[]> =>
  (
    await rows<{ workspace_id: WorkspaceId; lane_id: LaneId }>(
      db,
      sql`
        with recursive lane as (
          (select workspace_id, lane_id from job where ${CLAIMABLE} order by workspace_id, lane_id limit 1)
          union all
          select next.workspace_id, next.lane_id from lane cross join lateral (
            select workspace_id, lane_id from job
            where ${CLAIMABLE} and (workspace_id, lane_id) > (lane.workspace_id, lane.lane_id)
            order by workspace_id, lane_id limit 1) next
        )
        select lane.workspace_id, lane.lane_id from lane
        join lane_gate g on g.workspace_id = lane.workspace_id and g.lane_id = lane.lane_id
          and not g.paused and g.served = 'push' and g.plan = any(${DELIVERING_PLANS})
          and g.slots_free is distinct from 0 and g.starts_free is distinct from 0
        where not exists (
          select from circuit c where c.workspace_id = lane.workspace_id and c.lane_id = lane.lane_id and c.probe_at > moment())`,
    )
  ).map(({ workspace_id, lane_id }) => ({ workspaceId: workspace_id, laneId: lane_id }));
