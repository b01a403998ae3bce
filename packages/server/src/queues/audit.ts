import type { AuditEventType, CreateQueue, PatchQueue } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import type { Db } from "#kernel";
import { type Queue, type QueueActor, showQueue } from "./queue.ts";

/** Records in the audit log that a queue was created. */
export const auditCreated = (tx: Db, audit: AuditLog, actor: QueueActor, queue: Queue, request: CreateQueue): Promise<void> =>
  audit.record(tx, {
    ...eventBy(actor, "queue.created", queue.name),
    input: withoutCredentials(request),
    output: { secret_made: queue.callback_secret !== null },
  });

/** Records in the audit log that a queue was changed, and which settings. */
export const auditUpdated = (
  tx: Db,
  audit: AuditLog,
  actor: QueueActor,
  { before, queue }: { before: Queue; queue: Queue },
  request: PatchQueue,
): Promise<void> =>
  audit.record(tx, {
    ...eventBy(actor, "queue.updated", queue.name),
    input: withoutCredentials(request),
    output: {
      changed: differences(before, queue, actor),
      secret_made: before.callback_secret === null && queue.callback_secret !== null,
      secret_rotated: before.callback_secret !== null && queue.callback_secret !== before.callback_secret,
    },
  });

/** Records in the audit log that a queue was deleted, and how many schedules with it. */
export const auditDeleted = (tx: Db, audit: AuditLog, actor: Actor, name: string, schedules: number): Promise<void> =>
  audit.record(tx, { ...eventBy(actor, "queue.deleted", name), input: null, output: schedules === 0 ? null : { schedules } });

const eventBy = ({ workspaceId, actorId }: Actor, eventType: AuditEventType, resourceId: string) => ({
  workspaceId,
  eventType,
  actorId,
  resourceType: "queue" as const,
  resourceId,
});

/** The request without what is often a credential: headers by their names only, the address without its query. */
const withoutCredentials = ({ callback_headers, callback_url, ...rest }: CreateQueue | PatchQueue): object => ({
  ...rest,
  ...(callback_url !== undefined && { callback_url: callback_url?.replace(/\?.*$/s, "?…") ?? null }),
  ...(callback_headers && { callback_headers: Object.keys(callback_headers) }),
});

/** Names of the API's fields that changed. */
function differences(before: Queue, after: Queue, { plan }: QueueActor): string[] {
  const principal = { plan, role: "admin" } as const;
  const shown = showQueue(before, principal);
  return Object.entries(showQueue(after, principal)).flatMap(([name, value]) =>
    name === "updated_at" || JSON.stringify(value) === JSON.stringify(shown[name as keyof typeof shown]) ? [] : [name],
  );
}
