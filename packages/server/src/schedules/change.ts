import { type Db, momentMs, type Transactional, type WorkspaceId } from "#kernel";
import { type FireContext, type FireResult, fireSchedule } from "./fire.ts";
import { lockQueue } from "./lock-queue.ts";
import { scheduleNotFound } from "./not-found.ts";
import type { Schedule } from "./schedule.ts";
import { findSchedule, type HeldLane, lockSchedule } from "./store.ts";

/** What changing schedules needs. */
export interface ChangeContext extends FireContext {
  /** Called after each commit that created jobs: from ticks that were due before the change, or from a trigger. */
  readonly onFired: (fired: FireResult) => void;
}

/** The schedule to change. */
export interface Target {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  /** The queue to move it to; undefined when it stays. */
  readonly toQueue?: string | undefined;
}

/** A schedule without due ticks, locked until the transaction ends. */
export interface LockedSchedule {
  readonly schedule: Schedule;
  /** All ticks up to this moment have been taken. Milliseconds since 1970. */
  readonly nowMs: number;
  /** The database's time. Less than `nowMs` when another transaction took a later tick while this one waited for the lock. */
  readonly atMs: number;
  /** The lane of `toQueue`. */
  readonly toLane: HeldLane | undefined;
}

/**
 * Changes a schedule after firing all its due ticks with the old settings. When these ticks are more than one transaction should write,
 * earlier transactions fire them, so that none holds the locks of the schedule and the workspace's quota for long. Their jobs stay,
 * even if the change fails. Source: decision 13.
 *
 * @throws NOT_FOUND for the schedule or for `toQueue`; and what `change` throws
 */
export async function changeSchedule<Changed>(
  database: Transactional,
  context: ChangeContext,
  target: Target,
  change: (tx: Db, locked: LockedSchedule) => Promise<Changed>,
): Promise<Changed> {
  for (;;) {
    const { fired, changed } = await database.transaction(async (tx) => {
      const { isDue, fired: result, ...locked } = await lockAndFire(tx, context, target);
      return { fired: result, changed: isDue ? null : { record: await change(tx, locked) } };
    });
    if (fired.jobs > 0) context.onFired(fired);
    if (changed) return changed.record;
  }
}

/** Locks a schedule until the transaction ends, and fires as many of its due ticks as one transaction should write. */
async function lockAndFire(tx: Db, context: FireContext, target: Target): Promise<LockedSchedule & { fired: FireResult; isDue: boolean }> {
  const { workspaceId, name, toQueue } = target;
  // The queue first, then the schedule: the order in which deleting a queue locks them.
  const toLane = toQueue === undefined ? undefined : await lockQueue(tx, workspaceId, toQueue);
  const locked = await lockSchedule(tx, workspaceId, name);
  if (!locked) throw await scheduleNotFound(tx, workspaceId, name);
  const fired = await fireSchedule(tx, context, locked);
  // A second statement has a new snapshot: it sees what the lock's last holder committed, and what was fired above.
  const schedule = await findSchedule(tx, workspaceId, name);
  if (!schedule) throw await scheduleNotFound(tx, workspaceId, name);
  const atMs = momentMs(locked.now);
  const nowMs = Math.max(atMs, schedule.last_tick_at === null ? 0 : momentMs(schedule.last_tick_at));
  return { schedule, nowMs, atMs, toLane, fired, isDue: schedule.next_run_at !== null && momentMs(schedule.next_run_at) <= nowMs };
}
