import type { Actor } from "#audit";
import type { Transactional } from "#kernel";
import { auditPaused } from "./audit.ts";
import { type ChangeContext, changeSchedule } from "./change.ts";
import { scheduleNotFound } from "./not-found.ts";
import type { Schedule } from "./schedule.ts";
import { updatePaused } from "./store.ts";

/**
 * Pauses a schedule: ticks that are already due are fired first, ticks during the pause are skipped. A paused schedule stays as it is.
 *
 * @throws NOT_FOUND
 */
export const pauseSchedule = (database: Transactional, context: ChangeContext, actor: Actor, name: string): Promise<Schedule> =>
  changeSchedule(database, context, { workspaceId: actor.workspaceId, name }, async (tx, { schedule }) => {
    if (schedule.paused) return schedule;
    const paused = await updatePaused(tx, schedule, { paused: true, nextMs: null });
    if (!paused) throw await scheduleNotFound(tx, actor.workspaceId, name);
    await auditPaused(tx, context.audit, actor, name);
    return { ...paused, queue: schedule.queue };
  });
