import type { AuditEventType, CreateSchedule, PatchSchedule } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import { showJobId } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { Caller, Schedule } from "./schedule.ts";
import { recordOf } from "./show.ts";

/** Tells the audit log that a schedule was made. */
export const tellCreated = (
  tx: Db,
  audit: AuditLog,
  caller: Caller,
  { name, next_run_at }: Schedule,
  request: CreateSchedule,
): Promise<void> => audit.record(tx, { ...of(caller, "schedule.created", name), input: withoutPayload(request), output: { next_run_at } });

/** Tells the audit log that a schedule was changed, and in what. */
export const tellUpdated = (
  tx: Db,
  audit: AuditLog,
  caller: Caller,
  before: Schedule,
  schedule: Schedule,
  request: PatchSchedule,
): Promise<void> =>
  audit.record(tx, {
    ...of(caller, "schedule.updated", schedule.name),
    input: withoutPayload(request),
    output: { changed: differences(before, schedule) },
  });

/** Tells the audit log that a schedule was paused. */
export const tellPaused = (tx: Db, audit: AuditLog, caller: Caller, name: string): Promise<void> =>
  audit.record(tx, { ...of(caller, "schedule.paused", name), input: null, output: null });

/** Tells the audit log that a paused schedule goes on. */
export const tellResumed = (tx: Db, audit: AuditLog, caller: Caller, name: string): Promise<void> =>
  audit.record(tx, { ...of(caller, "schedule.resumed", name), input: null, output: null });

/** Tells the audit log that a schedule made a job by hand. */
export const tellTriggered = (tx: Db, audit: AuditLog, caller: Caller, name: string, jobId: JobId): Promise<void> =>
  audit.record(tx, { ...of(caller, "schedule.triggered", name), input: null, output: { job_id: showJobId(jobId) } });

/** Tells the audit log that a schedule was deleted. */
export const tellDeleted = (tx: Db, audit: AuditLog, caller: Caller, name: string): Promise<void> =>
  audit.record(tx, { ...of(caller, "schedule.deleted", name), input: null, output: null });

const of = ({ workspaceId, actorId }: Caller, eventType: AuditEventType, resourceId: string) => ({
  workspaceId,
  eventType,
  actorId,
  resourceType: "schedule" as const,
  resourceId,
});

/** The request without what may hold anything. */
const withoutPayload = ({ payload: _, ...rest }: CreateSchedule | PatchSchedule): object => rest;

/** The settings that callers see changed. */
function differences(before: Schedule, after: Schedule): string[] {
  const shown = (schedule: Schedule) => ({ ...recordOf(schedule), payload: schedule.payload });
  const old = shown(before);
  return Object.entries(shown(after)).flatMap(([name, value]) =>
    name === "updated_at" || JSON.stringify(value) === JSON.stringify(old[name as keyof typeof old]) ? [] : [name],
  );
}
