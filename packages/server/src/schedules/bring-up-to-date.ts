import { type Db, momentMs, problem, type WorkspaceId } from "#kernel";
import { type Fired, type Firing, fireDue } from "./fire.ts";
import type { Schedule } from "./schedule.ts";
import { findSchedule, lockSchedule } from "./store.ts";

/** A schedule that the transaction holds, with nothing due. */
export interface UpToDate {
  readonly schedule: Schedule;
  readonly fired: Fired;
  /** Ticks after this moment have not been taken. Milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Locks a schedule until the transaction ends, and fires what was due: by the settings that were in force then.
 *
 * @throws NOT_FOUND
 */
export async function bringUpToDate(tx: Db, firing: Firing, workspaceId: WorkspaceId, name: string): Promise<UpToDate> {
  const locked = await lockSchedule(tx, workspaceId, name);
  if (!locked) throw problem("NOT_FOUND");
  const fired = await fireDue(tx, firing, locked);
  // By a statement of its own: it sees what the last holder committed, and what was fired just now.
  const schedule = await findSchedule(tx, workspaceId, name);
  if (!schedule) throw problem("NOT_FOUND");
  const nowMs = Math.max(momentMs(locked.now), schedule.last_tick_at === null ? 0 : momentMs(schedule.last_tick_at));
  return { schedule, fired, nowMs };
}
