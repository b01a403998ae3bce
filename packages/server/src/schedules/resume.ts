import { problem, type Transactional } from "#kernel";
import { bringUpToDate } from "./bring-up-to-date.ts";
import { checkCalendar } from "./check-calendar.ts";
import type { Fired, Firing } from "./fire.ts";
import type { Caller, Schedule } from "./schedule.ts";
import { updatePaused } from "./store.ts";
import { tellResumed } from "./tell.ts";

/**
 * Lets a paused schedule go on, from the first tick after now. One that is active stays as it is.
 *
 * @throws NOT_FOUND; VALIDATION_ERROR for a time zone that there is no more
 */
export const resumeSchedule = (
  database: Transactional,
  firing: Firing,
  caller: Caller,
  name: string,
): Promise<{ schedule: Schedule; fired: Fired }> =>
  database.transaction(async (tx) => {
    const { schedule, fired, nowMs } = await bringUpToDate(tx, firing, caller.workspaceId, name);
    if (!schedule.paused) return { schedule, fired };
    const nextMs = checkCalendar(firing.calendars, schedule).next(nowMs);
    const resumed = await updatePaused(tx, schedule, { paused: false, nextMs });
    if (!resumed) throw problem("NOT_FOUND");
    await tellResumed(tx, firing.audit, caller, name);
    return { schedule: { ...resumed, queue: schedule.queue }, fired };
  });
