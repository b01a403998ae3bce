import { type Db, momentMs } from "#kernel";
import type { LaneKey } from "#lanes";
import { checkCalendar } from "./check-calendar.ts";
import { type FireContext, fireSchedule } from "./fire.ts";
import type { Schedule } from "./schedule.ts";
import { findSchedule, insertSchedule, lockSchedule, removeSchedulesOf, type ScheduleSettings, updateSchedule } from "./store.ts";

/** A workflow, by its lane and its name. */
export interface ScheduledWorkflow extends LaneKey {
  readonly name: string;
}

export type Pattern = Pick<Schedule, "cron" | "timezone">;

/** The prefix of the names of workflows' schedules. Callers cannot choose such a name. */
const PREFIX = "workflow:";

/**
 * Sets the schedule on which runs of a workflow start; null: none. A schedule that is already the same is left as it is, with its ticks.
 * Otherwise its due ticks are fired first: at most one that was missed, or those of the last ten seconds, so that one transaction can write
 * them. The caller wakes the workflow's lane. Source: decision 13.
 *
 * @returns the first tick of a schedule that is new or changed. Milliseconds since 1970; null when there is none
 * @throws VALIDATION_ERROR for an invalid cron expression or time zone
 */
export async function putScheduleOfWorkflow(
  tx: Db,
  context: FireContext,
  { workspaceId, laneId, name: workflow }: ScheduledWorkflow,
  pattern: Pattern | null,
  nowMs: number,
): Promise<number | null> {
  const name = `${PREFIX}${workflow}`;
  const locked = await lockSchedule(tx, workspaceId, name);
  const before = locked && (await findSchedule(tx, workspaceId, name));
  if (before?.cron === pattern?.cron && before?.timezone === pattern?.timezone) return null;
  if (locked) await fireSchedule(tx, context, locked);
  if (!pattern) {
    await removeSchedulesOf(tx, { workspaceId, laneId });
    return null;
  }
  const found = locked && (await findSchedule(tx, workspaceId, name));
  // Another node may have fired a tick since this transaction began.
  const lastMs = found?.last_tick_at ? momentMs(found.last_tick_at) : 0;
  const nextMs = checkCalendar(context.calendars, pattern).next(Math.max(locked ? momentMs(locked.now) : nowMs, lastMs));
  const settings = { ...UNSET, ...pattern };
  if (found) await updateSchedule(tx, found, { ...settings, laneId, nextMs });
  else await insertSchedule(tx, { workspaceId, name, laneId, nextMs }, settings);
  return nextMs;
}

const UNSET: Omit<ScheduleSettings, "cron" | "timezone"> = {
  payload: undefined,
  tag: undefined,
  priority: undefined,
  concurrencyKey: undefined,
  attempts: undefined,
  overlap: undefined,
  catchUp: undefined,
};
