import { type Db, momentMs, type Transactional, type WorkspaceId } from "#kernel";
import { type Fired, type Firing, fireDue } from "./fire.ts";
import { holdQueue } from "./hold-queue.ts";
import { scheduleNotFound } from "./not-found.ts";
import type { Schedule } from "./schedule.ts";
import { findSchedule, type HeldLane, lockSchedule } from "./store.ts";

/** What it takes to change schedules. */
export interface Changing extends Firing {
  /** Told after each commit what came of ticks that were due before a change, and of triggers. */
  readonly onFired: (fired: Fired) => void;
}

/** Which schedule is to change. */
export interface Target {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  /** The queue that it is given to, if it is. */
  readonly toQueue?: string | undefined;
}

/** A schedule that the transaction holds, with nothing due. */
export interface UpToDate {
  readonly schedule: Schedule;
  /** Ticks after this moment have not been taken. Milliseconds since 1970. */
  readonly nowMs: number;
  /** The database's own moment, which a tick may be ahead of that was taken while this one waited. */
  readonly atMs: number;
  /** The queue that it is given to. */
  readonly toLane: HeldLane | undefined;
}

/**
 * Changes a schedule once all that was due is fired: by the settings that were in force then. What is more than one transaction writes
 * is fired by several before the one that changes, so that none holds the schedule and its workspace's quota for long; what they fired
 * stays so, whatever becomes of the change. Source: decision 13.
 *
 * @throws NOT_FOUND, also when there is no queue that it could be given to; and what `change` does
 */
export async function changeSchedule<Changed>(
  database: Transactional,
  changing: Changing,
  target: Target,
  change: (tx: Db, held: UpToDate) => Promise<Changed>,
): Promise<Changed> {
  for (;;) {
    const { fired, changed } = await database.transaction(async (tx) => {
      const { isDue, fired: some, ...held } = await fireSome(tx, changing, target);
      return { fired: some, changed: isDue ? null : { record: await change(tx, held) } };
    });
    if (fired.jobs > 0) changing.onFired(fired);
    if (changed) return changed.record;
  }
}

/** Locks a schedule until the transaction ends, and fires what it can of what is due. */
async function fireSome(tx: Db, firing: Firing, target: Target): Promise<UpToDate & { fired: Fired; isDue: boolean }> {
  const { workspaceId, name, toQueue } = target;
  // Before the schedule, in the order in which whoever deletes a queue locks them.
  const toLane = toQueue === undefined ? undefined : await holdQueue(tx, workspaceId, toQueue);
  const locked = await lockSchedule(tx, workspaceId, name);
  if (!locked) throw await scheduleNotFound(tx, workspaceId, name);
  const fired = await fireDue(tx, firing, locked);
  // By a statement of its own: it sees what the last holder committed, and what was fired just now.
  const schedule = await findSchedule(tx, workspaceId, name);
  if (!schedule) throw await scheduleNotFound(tx, workspaceId, name);
  const atMs = momentMs(locked.now);
  const nowMs = Math.max(atMs, schedule.last_tick_at === null ? 0 : momentMs(schedule.last_tick_at));
  return { schedule, nowMs, atMs, toLane, fired, isDue: schedule.next_run_at !== null && momentMs(schedule.next_run_at) <= nowMs };
}
