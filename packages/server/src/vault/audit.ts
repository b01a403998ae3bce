import type { PatchSecret } from "@tidemill/contract";
import type { Actor, AuditLog, NewAuditEvent } from "#audit";
import type { Db } from "#kernel";
import type { Secret } from "./secret.ts";

/** Records in the audit log that a secret was created. */
export const auditCreated = (tx: Db, audit: AuditLog, actor: Actor, secret: Secret): Promise<void> =>
  audit.record(tx, {
    ...eventBy(actor, "secret.created", secret.name),
    input: { allowed_queues: secret.allowed_queues, allowed_hosts: secret.allowed_hosts },
    output: { value_hint: secret.value_hint },
  });

/** Records in the audit log that a secret got a new value, or new limits, or both. */
export const auditPatched = (tx: Db, audit: AuditLog, actor: Actor, secret: Secret, request: PatchSecret): Promise<void> =>
  audit.record(tx, {
    ...eventBy(actor, request.value === undefined ? "secret.updated" : "secret.rotated", secret.name),
    input: {
      ...(request.allowed_queues !== undefined && { allowed_queues: secret.allowed_queues }),
      ...(request.allowed_hosts !== undefined && { allowed_hosts: secret.allowed_hosts }),
    },
    output: { value_hint: secret.value_hint },
  });

/** Records in the audit log that a secret was deleted. */
export const auditDeleted = (tx: Db, audit: AuditLog, actor: Actor, name: string): Promise<void> =>
  audit.record(tx, { ...eventBy(actor, "secret.deleted", name), input: null, output: null });

const eventBy = (actor: Actor, eventType: NewAuditEvent["eventType"], name: string) =>
  ({ ...actor, eventType, resourceType: "secret", resourceId: name }) as const;
