import type { AuditEventType, CreateQueue, PatchQueue } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import type { Db } from "#kernel";
import { type Caller, type Queue, showQueue } from "./queue.ts";

/** Tells the audit log that a queue was made. */
export const tellCreated = (tx: Db, audit: AuditLog, caller: Caller, queue: Queue, request: CreateQueue): Promise<void> =>
  audit.record(tx, {
    ...of(caller, "queue.created", queue.name),
    input: withoutCredentials(request),
    output: { secret_made: queue.callback_secret !== null },
  });

/** Tells the audit log that a queue was changed, and in what. */
export const tellUpdated = (
  tx: Db,
  audit: AuditLog,
  caller: Caller,
  { before, queue }: { before: Queue; queue: Queue },
  request: PatchQueue,
): Promise<void> =>
  audit.record(tx, {
    ...of(caller, "queue.updated", queue.name),
    input: withoutCredentials(request),
    output: {
      changed: differences(before, queue, caller),
      secret_made: before.callback_secret === null && queue.callback_secret !== null,
      secret_rotated: before.callback_secret !== null && queue.callback_secret !== before.callback_secret,
    },
  });

/** Tells the audit log that a queue was deleted, and with it its schedules. */
export const tellDeleted = (tx: Db, audit: AuditLog, caller: Omit<Caller, "plan">, name: string, schedules: number): Promise<void> =>
  audit.record(tx, { ...of(caller, "queue.deleted", name), input: null, output: schedules === 0 ? null : { schedules } });

const of = ({ workspaceId, actorId }: Omit<Caller, "plan">, eventType: AuditEventType, resourceId: string) => ({
  workspaceId,
  eventType,
  actorId,
  resourceType: "queue" as const,
  resourceId,
});

/** The request without what is often a credential: its headers by name alone, its address without a query. */
const withoutCredentials = ({ callback_headers, callback_url, ...rest }: CreateQueue | PatchQueue): object => ({
  ...rest,
  ...(callback_url !== undefined && { callback_url: callback_url?.replace(/\?.*$/s, "?…") ?? null }),
  ...(callback_headers && { callback_headers: Object.keys(callback_headers) }),
});

/** The settings that callers see changed. */
function differences(before: Queue, after: Queue, { plan }: Caller): string[] {
  const shown = showQueue(before, plan);
  return Object.entries(showQueue(after, plan)).flatMap(([name, value]) =>
    name === "updated_at" || JSON.stringify(value) === JSON.stringify(shown[name as keyof typeof shown]) ? [] : [name],
  );
}
