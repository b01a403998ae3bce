import { type Db, row, sql, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";

/** An id that sorts before that of every workspace. */
const NO_WORKSPACE = "00000000-0000-0000-0000-000000000000" as WorkspaceId;

/** Locks all concurrency keys of a lane until the transaction ends. */
export const lockKeysOf = (tx: Db, laneId: LaneId): Promise<unknown> => row(tx, sql`select lock_keys_of(${laneId}::bigint)`);

/**
 * Reassigns the slots of some keys of one lane whose limit per key changed: of the lane `only`, or of the first lane of the first workspace
 * after `afterWorkspace`. It continues after the last key of the previous call, and takes as many keys as can give slots to at most `limit`
 * jobs. Returns null when no lane is left. The range of a lane's keys ends at the character that follows the slash in byte order. Uses
 * indexes lane_to_reassign and job_key.
 */
export const reassignSomeAcrossWorkspaces = (
  db: Db,
  limit: number,
  { only = null, afterWorkspace = NO_WORKSPACE }: { only?: LaneId | null; afterWorkspace?: WorkspaceId | undefined },
): Promise<LaneKey | null> =>
  row(
    db,
    sql`
      with recursive next_lane as materialized (
        select workspace_id, id, reassign_after_key, greatest(1, ${limit}::int / concurrency_per_key) as keys from lane
        where reassign_after_key is not null and deleted_at is null and (${only}::bigint is null or id = ${only})
          and workspace_id > ${afterWorkspace}
        order by workspace_id, id limit 1 for no key update
      ), key as (
        select first.key, 1 as n from next_lane l cross join lateral (
          select concurrency_key as key from job
          where workspace_id is not distinct from l.workspace_id and state = 'waiting' and concurrency_key is not null
            and lane_key(lane_id, concurrency_key) collate "C" > lane_key(l.id, l.reassign_after_key)
            and lane_key(lane_id, concurrency_key) collate "C" < l.id || '0'
          order by lane_key(lane_id, concurrency_key) collate "C" limit 1) first
        union all
        select next.key, n + 1 from key cross join next_lane l cross join lateral (
          select concurrency_key as key from job
          where workspace_id is not distinct from l.workspace_id and state = 'waiting' and concurrency_key is not null
            and lane_key(lane_id, concurrency_key) collate "C" > lane_key(l.id, key.key)
            and lane_key(lane_id, concurrency_key) collate "C" < l.id || '0'
          order by lane_key(lane_id, concurrency_key) collate "C" limit 1) next
        where n < l.keys
      ), recorded as (
        update lane set reassign_after_key = (select key from key where n = l.keys) from next_lane l
        where lane.workspace_id = l.workspace_id and lane.id = l.id
      )
      select l.workspace_id as "workspaceId", l.id as "laneId", (
        select assign_key_slots(array_agg(l.workspace_id), array_agg(l.id), array_agg(key.key)) from next_lane l cross join key) as assigned
      from next_lane l`,
  );
