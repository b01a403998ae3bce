import type { Transactional } from "#kernel";
import { type Changing, changeSchedule } from "./change.ts";
import { scheduleNotFound } from "./not-found.ts";
import type { Caller, Schedule } from "./schedule.ts";
import { updatePaused } from "./store.ts";
import { tellPaused } from "./tell.ts";

/**
 * Stops a schedule: what was due before is fired, the ticks of the pause are skipped. One that is paused stays as it is.
 *
 * @throws NOT_FOUND
 */
export const pauseSchedule = (database: Transactional, changing: Changing, caller: Caller, name: string): Promise<Schedule> =>
  changeSchedule(database, changing, { workspaceId: caller.workspaceId, name }, async (tx, { schedule }) => {
    if (schedule.paused) return schedule;
    const paused = await updatePaused(tx, schedule, { paused: true, nextMs: null });
    if (!paused) throw await scheduleNotFound(tx, caller.workspaceId, name);
    await tellPaused(tx, changing.audit, caller, name);
    return { ...paused, queue: schedule.queue };
  });
