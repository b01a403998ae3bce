import type { Transactional } from "#kernel";
import { type Changing, changeSchedule } from "./change.ts";
import { calendarOf } from "./check-calendar.ts";
import { scheduleNotFound } from "./not-found.ts";
import type { Caller, Schedule } from "./schedule.ts";
import { updatePaused } from "./store.ts";
import { tellResumed } from "./tell.ts";

/**
 * Lets a paused schedule go on, from the first tick after now. One that is active stays as it is.
 *
 * @throws NOT_FOUND; INVALID_STATE when this program does not know its time zone any more
 */
export const resumeSchedule = (database: Transactional, changing: Changing, caller: Caller, name: string): Promise<Schedule> =>
  changeSchedule(database, changing, { workspaceId: caller.workspaceId, name }, async (tx, { schedule, nowMs }) => {
    if (!schedule.paused) return schedule;
    const nextMs = calendarOf(changing.calendars, schedule).next(nowMs);
    const resumed = await updatePaused(tx, schedule, { paused: false, nextMs });
    if (!resumed) throw await scheduleNotFound(tx, caller.workspaceId, name);
    await tellResumed(tx, changing.audit, caller, name);
    return { ...resumed, queue: schedule.queue };
  });
