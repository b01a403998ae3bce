import { type Db, momentMs, ProblemError, type Transactional, type WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";
import type { Calendars } from "./calendar.ts";
import { type ChangeContext, changeSchedule } from "./change.ts";
import { checkCalendar } from "./check-calendar.ts";
import type { Schedule } from "./schedule.ts";
import { findSchedule, insertSchedule, lockSchedule, removeSchedulesOf, type ScheduleSettings, updateSchedule } from "./store.ts";

/** A workflow, by its lane and its name. */
export interface ScheduledWorkflow extends LaneKey {
  readonly name: string;
}

type Pattern = Pick<Schedule, "cron" | "timezone">;

/** The prefix of the names of workflows' schedules. Callers cannot choose such a name. */
const PREFIX = "workflow:";

const scheduleName = (workflow: string): string => `${PREFIX}${workflow}`;

/** A schedule that is to be changed has ticks that are due. They are to be fired first (`fireDueOfWorkflow`). */
export class TicksAreDue extends Error {
  override readonly name = "TicksAreDue";
}

/**
 * Sets the schedule on which runs of a workflow start; null: none. A schedule that is already the same is left as it is, with its ticks.
 *
 * @returns the first tick of a schedule that is new or changed. Milliseconds since 1970; null when there is none
 * @throws {TicksAreDue} if the schedule that it had has due ticks
 * @throws VALIDATION_ERROR for an invalid cron expression or time zone
 */
export async function putScheduleOfWorkflow(
  tx: Db,
  calendars: Calendars,
  { workspaceId, laneId, name: workflow }: ScheduledWorkflow,
  pattern: Pattern | null,
  nowMs: number,
): Promise<number | null> {
  const name = scheduleName(workflow);
  const locked = await lockSchedule(tx, workspaceId, name);
  const found = locked && (await findSchedule(tx, workspaceId, name));
  if (found && found.cron === pattern?.cron && found.timezone === pattern.timezone) return null;
  // Another node may have fired a tick since this transaction began.
  const lastMs = found?.last_tick_at ? momentMs(found.last_tick_at) : 0;
  const fromMs = Math.max(locked ? momentMs(locked.now) : nowMs, lastMs);
  const nextMs = pattern && checkCalendar(calendars, pattern).next(fromMs);
  if (found?.next_run_at && momentMs(found.next_run_at) <= fromMs) throw new TicksAreDue();
  const settings = pattern && { ...UNSET, ...pattern };
  if (!settings) await removeSchedulesOf(tx, { workspaceId, laneId });
  else if (found) await updateSchedule(tx, found, { ...settings, laneId, nextMs });
  else await insertSchedule(tx, { workspaceId, name, laneId, nextMs }, settings);
  return nextMs;
}

/** Fires the due ticks of a workflow's schedule before it is changed, as `changeSchedule` does. */
export async function fireDueOfWorkflow(
  database: Transactional,
  context: ChangeContext,
  workspaceId: WorkspaceId,
  workflow: string,
): Promise<void> {
  try {
    await changeSchedule(database, context, { workspaceId, name: scheduleName(workflow) }, async () => {});
  } catch (error) {
    // Somebody else has removed it, and fired its ticks before.
    if (!(error instanceof ProblemError && error.code === "NOT_FOUND")) throw error;
  }
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
