import type { PatchSchedule } from "@tidemill/contract";
import type { Transactional } from "#kernel";
import type { Calendars } from "./calendar.ts";
import { type Changing, changeSchedule, type UpToDate } from "./change.ts";
import { calendarOf, checkCalendar } from "./check-calendar.ts";
import { scheduleNotFound } from "./not-found.ts";
import type { Caller, Schedule } from "./schedule.ts";
import { settingsOf } from "./settings.ts";
import { updateSchedule } from "./store.ts";
import { tellUpdated } from "./tell.ts";

/**
 * Changes what the request names and leaves the rest; what was due before is fired as it was. Another cron expression or time zone
 * moves the next run, nothing else does.
 *
 * @throws NOT_FOUND, also when the workspace has no such queue; VALIDATION_ERROR for a cron expression, a time zone or a template that
 *   is none; PAYLOAD_TOO_LARGE; INVALID_STATE when one of cron and time zone changes and the other cannot be read any more
 */
export async function patchSchedule(
  database: Transactional,
  changing: Changing,
  caller: Caller,
  name: string,
  request: PatchSchedule,
): Promise<Schedule> {
  const settings = settingsOf(request);
  // By itself and before the schedule is looked at: a request that is malformed fires nothing.
  checkCalendar(changing.calendars, { cron: request.cron ?? "@yearly", timezone: request.timezone ?? "UTC" });
  const target = { workspaceId: caller.workspaceId, name, toQueue: request.queue };
  return changeSchedule(database, changing, target, async (tx, before) => {
    const nextMs = nextRun(changing.calendars, before, request);
    const stored = await updateSchedule(tx, before.schedule, { ...settings, laneId: before.toLane?.id, nextMs });
    if (!stored) throw await scheduleNotFound(tx, caller.workspaceId, name);
    const schedule = { ...stored, queue: request.queue ?? before.schedule.queue };
    await tellUpdated(tx, changing.audit, caller, before.schedule, schedule, request);
    return schedule;
  });
}

/** The next run by another calendar; `undefined` where the calendar stays, or the schedule is paused. */
function nextRun(calendars: Calendars, { schedule, nowMs }: UpToDate, request: PatchSchedule): number | null | undefined {
  const { cron = schedule.cron, timezone = schedule.timezone } = request;
  if (cron === schedule.cron && timezone === schedule.timezone) return undefined;
  const calendar = calendarOf(calendars, { cron, timezone });
  return schedule.paused ? undefined : calendar.next(nowMs);
}
