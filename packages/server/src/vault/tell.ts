import type { AuditEventType, PatchSecret } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import type { Db } from "#kernel";
import type { Caller, Secret } from "./secret.ts";

/** Tells the audit log that a secret was made. */
export const tellCreated = (tx: Db, audit: AuditLog, caller: Caller, secret: Secret): Promise<void> =>
  audit.record(tx, { ...of(caller, "secret.created", secret.name), input: limitsOf(secret), output: { value_hint: secret.value_hint } });

/** Tells the audit log that a secret has another value, or other limits, or both. */
export const tellPatched = (tx: Db, audit: AuditLog, caller: Caller, secret: Secret, request: PatchSecret): Promise<void> => {
  const { value, allowed_queues, allowed_hosts } = request;
  const { allowed_queues: queues, allowed_hosts: hosts } = secret;
  return audit.record(tx, {
    ...of(caller, value === undefined ? "secret.updated" : "secret.rotated", secret.name),
    input: {
      ...(allowed_queues !== undefined && { allowed_queues: queues }),
      ...(allowed_hosts !== undefined && { allowed_hosts: hosts }),
    },
    output: { value_hint: secret.value_hint },
  });
};

/** Tells the audit log that a secret was removed. */
export const tellDeleted = (tx: Db, audit: AuditLog, caller: Caller, name: string): Promise<void> =>
  audit.record(tx, { ...of(caller, "secret.deleted", name), input: null, output: null });

const limitsOf = ({ allowed_queues, allowed_hosts }: Secret): object => ({ allowed_queues, allowed_hosts });

const of = ({ workspaceId, actorId }: Caller, eventType: AuditEventType, resourceId: string) => ({
  workspaceId,
  eventType,
  actorId,
  resourceType: "secret" as const,
  resourceId,
});
