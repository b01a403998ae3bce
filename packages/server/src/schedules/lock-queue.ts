import type { Db, WorkspaceId } from "#kernel";
import { queueNotFound } from "#lanes";
import { type HeldLane, lockLane } from "./store.ts";

/**
 * Locks the lane of a request's queue, so that the queue cannot be deleted until the transaction ends.
 *
 * @throws NOT_FOUND
 */
export async function lockQueue(tx: Db, workspaceId: WorkspaceId, queue: string): Promise<HeldLane> {
  const lane = await lockLane(tx, workspaceId, queue);
  if (!lane) throw await queueNotFound(tx, workspaceId, queue);
  return lane;
}
