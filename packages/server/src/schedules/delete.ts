import type { AuditLog } from "#audit";
import type { Transactional } from "#kernel";
import { scheduleNotFound } from "./not-found.ts";
import type { Caller } from "./schedule.ts";
import { removeSchedule } from "./store.ts";
import { tellDeleted } from "./tell.ts";

/**
 * Deletes a schedule. The jobs that it made stay.
 *
 * @throws NOT_FOUND
 */
export const deleteSchedule = (database: Transactional, audit: AuditLog, caller: Caller, name: string): Promise<void> =>
  database.transaction(async (tx) => {
    if (!(await removeSchedule(tx, caller.workspaceId, name))) throw await scheduleNotFound(tx, caller.workspaceId, name);
    await tellDeleted(tx, audit, caller, name);
  });
