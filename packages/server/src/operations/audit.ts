import type { AuditEventType } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import { type Db, type OperationId, typeId } from "#kernel";
import type { OperationRow } from "./store.ts";

export const showOperationId = (id: OperationId): string => typeId("op", id);

/** Records that an actor requested an operation, and how many jobs matched. */
export const auditStart = (tx: Db, audit: AuditLog, operation: OperationRow): Promise<void> =>
  record(tx, audit, operation, "operation.started", operation.actor_id, { matched: operation.matched });

/** Records that an operation ended: completed, or cancelled by an actor. */
export const auditEnd = (tx: Db, audit: AuditLog, operation: OperationRow, actorId: string): Promise<void> => {
  const eventType = operation.state === "cancelled" ? "operation.cancelled" : "operation.completed";
  return record(tx, audit, operation, eventType, actorId, { done: operation.done, skipped: operation.skipped });
};

const record = (
  tx: Db,
  audit: AuditLog,
  operation: OperationRow,
  eventType: AuditEventType,
  actorId: string,
  output: object,
): Promise<void> => {
  const { workspace_id, id, action, filter, ids } = operation;
  return audit.record(tx, {
    workspaceId: workspace_id,
    eventType,
    actorId,
    resourceType: "operation",
    resourceId: showOperationId(id),
    input: { action, ...(filter ? { filter } : { ids }) },
    output,
  });
};
