import type { Actor, AuditLog } from "#audit";
import type { Transactional } from "#kernel";
import { auditDeleted } from "./audit.ts";
import { secretNotFound } from "./not-found.ts";
import { removeSecret } from "./store.ts";

/**
 * Deletes a secret and its data key for good.
 *
 * @throws NOT_FOUND
 */
export const deleteSecret = (database: Transactional, audit: AuditLog, actor: Actor, name: string): Promise<void> =>
  database.transaction(async (tx) => {
    if (!(await removeSecret(tx, actor.workspaceId, name))) throw await secretNotFound(tx, actor.workspaceId, name);
    await auditDeleted(tx, audit, actor, name);
  });
