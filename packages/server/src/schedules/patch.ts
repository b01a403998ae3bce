import type { PatchSchedule } from "@tidemill/contract";
import { problem, type Transactional } from "#kernel";
import { bringUpToDate, type UpToDate } from "./bring-up-to-date.ts";
import type { Calendars } from "./calendar.ts";
import { checkCalendar } from "./check-calendar.ts";
import type { Fired, Firing } from "./fire.ts";
import { holdQueue } from "./hold-queue.ts";
import type { Caller, Schedule } from "./schedule.ts";
import { settingsOf } from "./settings.ts";
import { updateSchedule } from "./store.ts";
import { tellUpdated } from "./tell.ts";

/**
 * Changes what the request names and leaves the rest; what was due before is fired as it was. Another cron expression or time zone
 * moves the next run, nothing else does.
 *
 * @throws NOT_FOUND, also when the workspace has no such queue; VALIDATION_ERROR for a cron expression, a time zone or a template that
 *   is none; PAYLOAD_TOO_LARGE
 */
export async function patchSchedule(
  database: Transactional,
  firing: Firing,
  caller: Caller,
  name: string,
  request: PatchSchedule,
): Promise<{ schedule: Schedule; fired: Fired }> {
  const settings = settingsOf(request);
  return database.transaction(async (tx) => {
    // Before the schedule, in the order in which whoever deletes a queue locks them.
    const lane = request.queue === undefined ? undefined : await holdQueue(tx, caller.workspaceId, request.queue);
    const before = await bringUpToDate(tx, firing, caller.workspaceId, name);
    const nextMs = nextRun(firing.calendars, before, request);
    const stored = await updateSchedule(tx, before.schedule, { ...settings, laneId: lane?.id, nextMs });
    if (!stored) throw problem("NOT_FOUND");
    const schedule = { ...stored, queue: request.queue ?? before.schedule.queue };
    await tellUpdated(tx, firing.audit, caller, before.schedule, schedule, request);
    return { schedule, fired: before.fired };
  });
}

/** The next run by another calendar; `undefined` where the calendar stays, or the schedule is paused. */
function nextRun(calendars: Calendars, { schedule, nowMs }: UpToDate, request: PatchSchedule): number | null | undefined {
  const { cron = schedule.cron, timezone = schedule.timezone } = request;
  if (cron === schedule.cron && timezone === schedule.timezone) return undefined;
  const calendar = checkCalendar(calendars, { cron, timezone });
  return schedule.paused ? undefined : calendar.next(nowMs);
}
