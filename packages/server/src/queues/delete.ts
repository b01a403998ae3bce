import type { Transactional } from "#kernel";
import { type LaneKey, markLaneDeleted, queueNotFound } from "#lanes";
import { removeSchedulesOf } from "#schedules";
import type { Caller, QueueMaker } from "./queue.ts";
import { tellDeleted } from "./tell.ts";

/**
 * Deletes a queue and its schedules: they are gone for callers at once, its jobs are swept after it.
 *
 * @throws NOT_FOUND
 */
export const deleteQueue = (
  database: Transactional,
  { audit }: Pick<QueueMaker, "audit">,
  caller: Omit<Caller, "plan">,
  name: string,
): Promise<LaneKey> =>
  database.transaction(async (tx) => {
    const deleted = await markLaneDeleted(tx, caller.workspaceId, "queue", name);
    if (!deleted) throw await queueNotFound(tx, caller.workspaceId, name);
    const lane = { workspaceId: caller.workspaceId, laneId: deleted.id };
    await tellDeleted(tx, audit, caller, name, await removeSchedulesOf(tx, lane));
    return lane;
  });
