import type { Db, WorkspaceId } from "#kernel";
import { queueNotFound } from "#lanes";
import { type HeldLane, holdLane } from "./store.ts";

/**
 * Locks the lane of a request's queue, so that the queue cannot be deleted until the transaction ends.
 *
 * @throws NOT_FOUND
 */
export async function holdQueue(tx: Db, workspaceId: WorkspaceId, queue: string): Promise<HeldLane> {
  const lane = await holdLane(tx, workspaceId, queue);
  if (!lane) throw await queueNotFound(tx, workspaceId, queue);
  return lane;
}
