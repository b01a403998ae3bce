import type { Actor, AuditLog } from "#audit";
import type { Transactional } from "#kernel";
import { auditDeleted } from "./audit.ts";
import { scheduleNotFound } from "./not-found.ts";
import { removeSchedule } from "./store.ts";

/**
 * Deletes a schedule. Jobs that it has created stay.
 *
 * @throws NOT_FOUND
 */
export const deleteSchedule = (database: Transactional, audit: AuditLog, actor: Actor, name: string): Promise<void> =>
  database.transaction(async (tx) => {
    if (!(await removeSchedule(tx, actor.workspaceId, name))) throw await scheduleNotFound(tx, actor.workspaceId, name);
    await auditDeleted(tx, audit, actor, name);
  });
