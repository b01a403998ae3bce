import type { PatchSchedule } from "@tidemill/contract";
import type { Actor } from "#audit";
import type { Transactional } from "#kernel";
import { auditUpdated } from "./audit.ts";
import type { Calendars } from "./calendar.ts";
import { type ChangeContext, changeSchedule, type LockedSchedule } from "./change.ts";
import { calendarOf, checkCalendar } from "./check-calendar.ts";
import { scheduleNotFound } from "./not-found.ts";
import type { Schedule } from "./schedule.ts";
import { settingsOf } from "./settings.ts";
import { updateSchedule } from "./store.ts";

/**
 * Changes the settings in the request and leaves the others. Ticks that are already due are fired with the old settings first. Only
 * another cron expression or time zone moves the next run.
 *
 * @throws NOT_FOUND for the schedule or the queue; VALIDATION_ERROR for an invalid cron expression, time zone or template;
 *   PAYLOAD_TOO_LARGE; INVALID_STATE when only one of cron and time zone changes and this node cannot read the stored other one
 */
export async function patchSchedule(
  database: Transactional,
  context: ChangeContext,
  actor: Actor,
  name: string,
  request: PatchSchedule,
): Promise<Schedule> {
  const settings = await settingsOf(context.shares.loopTime, actor.workspaceId, request);
  // Checked before the schedule is read, with a valid stand-in for what the request leaves out: a malformed request fires nothing.
  checkCalendar(context.calendars, { cron: request.cron ?? "@yearly", timezone: request.timezone ?? "UTC" });
  const target = { workspaceId: actor.workspaceId, name, toQueue: request.queue };
  return changeSchedule(database, context, target, async (tx, before) => {
    const nextMs = nextRun(context.calendars, before, request);
    const stored = await updateSchedule(tx, before.schedule, { ...settings, laneId: before.toLane?.id, nextMs });
    if (!stored) throw await scheduleNotFound(tx, actor.workspaceId, name);
    const schedule = { ...stored, queue: request.queue ?? before.schedule.queue };
    await auditUpdated(tx, context.audit, actor, before.schedule, schedule, request);
    return schedule;
  });
}

/** The next run of a new calendar; `undefined` when the calendar does not change, or the schedule is paused. */
function nextRun(calendars: Calendars, { schedule, nowMs }: LockedSchedule, request: PatchSchedule): number | null | undefined {
  const { cron = schedule.cron, timezone = schedule.timezone } = request;
  if (cron === schedule.cron && timezone === schedule.timezone) return undefined;
  const calendar = calendarOf(calendars, { cron, timezone });
  return schedule.paused ? undefined : calendar.next(nowMs);
}
