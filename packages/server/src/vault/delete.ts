import type { Actor, AuditLog } from "#audit";
import { problem, type Transactional } from "#kernel";
import { auditDeleted } from "./audit.ts";
import { removeSecret } from "./store.ts";

/**
 * Deletes a secret and its data key for good.
 *
 * @throws NOT_FOUND
 */
export const deleteSecret = (database: Transactional, audit: AuditLog, actor: Actor, name: string): Promise<void> =>
  database.transaction(async (tx) => {
    if (!(await removeSecret(tx, actor.workspaceId, name))) throw problem("NOT_FOUND");
    await auditDeleted(tx, audit, actor, name);
  });
