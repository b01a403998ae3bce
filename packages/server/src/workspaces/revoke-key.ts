import type { Actor } from "#audit";
import { notFound, type Transactional, typeId, type Uuid } from "#kernel";
import { markKeyRevoked } from "./key-store.ts";
import type { Registrar } from "./registrar.ts";

/**
 * Revokes a key for good. Nodes may trust it for less than a second still, unless they are told.
 *
 * @throws NOT_FOUND for another workspace's key, one that there is not, and one that was revoked before
 */
export const revokeKey = (
  database: Transactional,
  { audit }: Pick<Registrar, "audit">,
  { workspaceId, actorId }: Actor,
  id: Uuid,
): Promise<void> =>
  database.transaction(async (tx) => {
    const revoked = await markKeyRevoked(tx, workspaceId, id);
    if (!revoked) throw notFound({ resource: "key", id: typeId("key", id) });
    const { name, role, expires_at } = revoked;
    await audit.record(tx, {
      workspaceId,
      eventType: "key.revoked",
      actorId,
      resourceType: "key",
      resourceId: typeId("key", id),
      input: { name, role, expires_at },
      output: null,
    });
  });
