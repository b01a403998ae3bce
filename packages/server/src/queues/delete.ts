import type { Transactional } from "#kernel";
import { queueNotFound } from "./not-found.ts";
import type { Caller, LaneId, QueueMaker } from "./queue.ts";
import { markQueueDeleted } from "./store.ts";
import { tellDeleted } from "./tell.ts";

/**
 * Deletes a queue and its schedules: they are gone for callers at once, its jobs are swept after it.
 *
 * @throws NOT_FOUND
 */
export const deleteQueue = (
  database: Transactional,
  { audit, removeSchedulesOf }: Pick<QueueMaker, "audit" | "removeSchedulesOf">,
  caller: Omit<Caller, "plan">,
  name: string,
): Promise<{ id: LaneId }> =>
  database.transaction(async (tx) => {
    const deleted = await markQueueDeleted(tx, caller.workspaceId, name);
    if (!deleted) throw await queueNotFound(tx, caller.workspaceId, name);
    const schedules = await removeSchedulesOf(tx, caller.workspaceId, deleted.id);
    await tellDeleted(tx, audit, caller, name, schedules);
    return deleted;
  });
