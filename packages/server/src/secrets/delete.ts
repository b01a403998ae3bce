import type { AuditLog } from "#audit";
import type { Transactional } from "#kernel";
import { secretNotFound } from "./not-found.ts";
import type { Caller } from "./secret.ts";
import { removeSecret } from "./store.ts";
import { tellDeleted } from "./tell.ts";

/**
 * Removes a secret for good: its data key goes with it.
 *
 * @throws NOT_FOUND
 */
export const deleteSecret = (database: Transactional, audit: AuditLog, caller: Caller, name: string): Promise<void> =>
  database.transaction(async (tx) => {
    if (!(await removeSecret(tx, caller.workspaceId, name))) throw await secretNotFound(tx, caller.workspaceId, name);
    await tellDeleted(tx, audit, caller, name);
  });
