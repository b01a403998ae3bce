import { problem, type Transactional } from "#kernel";
import { bringUpToDate } from "./bring-up-to-date.ts";
import type { Fired, Firing } from "./fire.ts";
import type { Caller, Schedule } from "./schedule.ts";
import { updatePaused } from "./store.ts";
import { tellPaused } from "./tell.ts";

/**
 * Stops a schedule: what was due before is fired, the ticks of the pause are skipped. One that is paused stays as it is.
 *
 * @throws NOT_FOUND
 */
export const pauseSchedule = (
  database: Transactional,
  firing: Firing,
  caller: Caller,
  name: string,
): Promise<{ schedule: Schedule; fired: Fired }> =>
  database.transaction(async (tx) => {
    const { schedule, fired } = await bringUpToDate(tx, firing, caller.workspaceId, name);
    if (schedule.paused) return { schedule, fired };
    const paused = await updatePaused(tx, schedule, { paused: true, nextMs: null });
    if (!paused) throw problem("NOT_FOUND");
    await tellPaused(tx, firing.audit, caller, name);
    return { schedule: { ...paused, queue: schedule.queue }, fired };
  });
