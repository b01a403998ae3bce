import type { AuditLog } from "#audit";
import { problem, type Transactional } from "#kernel";
import type { Caller, LaneId } from "./queue.ts";
import { markQueueDeleted } from "./store.ts";
import { tellDeleted } from "./tell.ts";

/**
 * Deletes a queue: it is gone for callers at once, its jobs are swept after it.
 *
 * @throws NOT_FOUND
 */
export const deleteQueue = (
  database: Transactional,
  audit: AuditLog,
  caller: Omit<Caller, "plan">,
  name: string,
): Promise<{ id: LaneId }> =>
  database.transaction(async (tx) => {
    const deleted = await markQueueDeleted(tx, caller.workspaceId, name);
    if (!deleted) throw problem("NOT_FOUND");
    await tellDeleted(tx, audit, caller, name);
    return deleted;
  });
