import type { Actor } from "#audit";
import { notFound, type Transactional, typeId, type Uuid } from "#kernel";
import type { AdminContext } from "./admin-context.ts";
import { markKeyRevoked } from "./key-store.ts";

/**
 * Revokes a key permanently. A node that is not notified may accept it for up to a second more.
 *
 * @throws NOT_FOUND for a key that does not exist, belongs to another workspace, or is already revoked
 */
export const revokeKey = (
  database: Transactional,
  { audit }: Pick<AdminContext, "audit">,
  { workspaceId, actorId }: Actor,
  id: Uuid,
): Promise<void> =>
  database.transaction(async (tx) => {
    const revoked = await markKeyRevoked(tx, workspaceId, id);
    if (!revoked) throw notFound({ resource: "key", id: typeId("key", id) });
    const { name, role, queues, workflows, expires_at } = revoked;
    await audit.record(tx, {
      workspaceId,
      eventType: "key.revoked",
      actorId,
      resourceType: "key",
      resourceId: typeId("key", id),
      input: { name, role, queues, workflows, expires_at },
      output: null,
    });
  });
