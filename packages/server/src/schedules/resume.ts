import type { Actor } from "#audit";
import type { Transactional } from "#kernel";
import { auditResumed } from "./audit.ts";
import { type ChangeContext, changeSchedule } from "./change.ts";
import { calendarOf } from "./check-calendar.ts";
import { scheduleNotFound } from "./not-found.ts";
import type { Schedule } from "./schedule.ts";
import { updatePaused } from "./store.ts";

/**
 * Resumes a paused schedule, from the first tick after now. An active schedule stays as it is.
 *
 * @throws NOT_FOUND; INVALID_STATE when this node does not know its time zone
 */
export const resumeSchedule = (database: Transactional, context: ChangeContext, actor: Actor, name: string): Promise<Schedule> =>
  changeSchedule(database, context, { workspaceId: actor.workspaceId, name }, async (tx, { schedule, nowMs }) => {
    if (!schedule.paused) return schedule;
    const nextMs = calendarOf(context.calendars, schedule).next(nowMs);
    const resumed = await updatePaused(tx, schedule, { paused: false, nextMs });
    if (!resumed) throw await scheduleNotFound(tx, actor.workspaceId, name);
    await auditResumed(tx, context.audit, actor, name);
    return { ...resumed, queue: schedule.queue };
  });
