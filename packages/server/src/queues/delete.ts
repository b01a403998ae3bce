import type { Actor } from "#audit";
import type { Transactional } from "#kernel";
import { type LaneKey, markLaneDeleted, queueNotFound } from "#lanes";
import { removeSchedulesOf } from "#schedules";
import { auditDeleted } from "./audit.ts";
import type { QueueContext } from "./queue.ts";

/**
 * Deletes a queue and its schedules. Callers see neither them nor the queue's jobs any more; a sweep deletes the jobs later.
 *
 * @throws NOT_FOUND
 */
export const deleteQueue = (
  database: Transactional,
  { audit }: Pick<QueueContext, "audit">,
  actor: Actor,
  name: string,
): Promise<LaneKey> =>
  database.transaction(async (tx) => {
    const deleted = await markLaneDeleted(tx, actor.workspaceId, "queue", name);
    if (!deleted) throw await queueNotFound(tx, actor.workspaceId, name);
    const lane = { workspaceId: actor.workspaceId, laneId: deleted.id };
    await auditDeleted(tx, audit, actor, name, await removeSchedulesOf(tx, lane));
    return lane;
  });
