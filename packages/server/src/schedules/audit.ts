import type { AuditEventType, CreateSchedule, PatchSchedule } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import { showJobId } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { Schedule } from "./schedule.ts";
import { recordOf } from "./show.ts";

/** Records in the audit log that a schedule was created. */
export const auditCreated = (
  tx: Db,
  audit: AuditLog,
  actor: Actor,
  { name, next_run_at }: Schedule,
  request: CreateSchedule,
): Promise<void> =>
  audit.record(tx, { ...eventBy(actor, "schedule.created", name), input: withoutPayload(request), output: { next_run_at } });

/** Records in the audit log that a schedule was changed, and which settings. */
export const auditUpdated = (
  tx: Db,
  audit: AuditLog,
  actor: Actor,
  before: Schedule,
  schedule: Schedule,
  request: PatchSchedule,
): Promise<void> =>
  audit.record(tx, {
    ...eventBy(actor, "schedule.updated", schedule.name),
    input: withoutPayload(request),
    output: { changed: differences(before, schedule) },
  });

/** Records in the audit log that a schedule was paused. */
export const auditPaused = (tx: Db, audit: AuditLog, actor: Actor, name: string): Promise<void> =>
  audit.record(tx, { ...eventBy(actor, "schedule.paused", name), input: null, output: null });

/** Records in the audit log that a paused schedule was resumed. */
export const auditResumed = (tx: Db, audit: AuditLog, actor: Actor, name: string): Promise<void> =>
  audit.record(tx, { ...eventBy(actor, "schedule.resumed", name), input: null, output: null });

/** Records in the audit log that a caller triggered a schedule. */
export const auditTriggered = (tx: Db, audit: AuditLog, actor: Actor, name: string, jobId: JobId): Promise<void> =>
  audit.record(tx, { ...eventBy(actor, "schedule.triggered", name), input: null, output: { job_id: showJobId(jobId) } });

/** Records in the audit log that a schedule was deleted. */
export const auditDeleted = (tx: Db, audit: AuditLog, actor: Actor, name: string): Promise<void> =>
  audit.record(tx, { ...eventBy(actor, "schedule.deleted", name), input: null, output: null });

const eventBy = (actor: Actor, eventType: AuditEventType, resourceId: string) =>
  ({ ...actor, eventType, resourceType: "schedule", resourceId }) as const;

/** The request without the payload: it may contain anything, including personal data. */
const withoutPayload = ({ payload: _, ...rest }: CreateSchedule | PatchSchedule): object => rest;

/** Names of the API's fields that changed. */
function differences(before: Schedule, after: Schedule): string[] {
  const shown = (schedule: Schedule) => ({ ...recordOf(schedule), payload: schedule.payload });
  const old = shown(before);
  return Object.entries(shown(after)).flatMap(([name, value]) =>
    name === "updated_at" || JSON.stringify(value) === JSON.stringify(old[name as keyof typeof old]) ? [] : [name],
  );
}
