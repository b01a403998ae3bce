import { SCHEDULE_STATES, type ScheduleState } from "@tidemill/contract";
import {
  Calendars,
  findWorkspace,
  listSchedules,
  momentMs,
  type Schedule,
  type ScheduleId,
  toMoment,
  workspaceNotFound,
} from "@tidemill/server";
import { type ListOptions, printPages } from "../output/print-pages.ts";
import { readScans } from "./read-pages.ts";
import { withDatabase } from "./with-database.ts";
import { parseWorkspaceId } from "./workspace.ts";

interface SchedulesOptions extends ListOptions {
  /** How many of the next runs to show for each schedule. */
  readonly next: number;
  readonly queue?: string;
  readonly state?: string;
  readonly paused?: boolean;
}

const COLUMNS = ["name", "queue", "cron", "state", "timezone", "next_run_in_timezone", "next_run_local", "last_run_local"];

/** `tidemill schedule list`: lists a workspace's schedules, newest first, with their next runs in local time and in their time zones. */
export async function listSchedulesCommand(workspace: string, { next, queue, state, paused, ...options }: SchedulesOptions): Promise<void> {
  const workspaceId = parseWorkspaceId(workspace);
  await withDatabase(async ({ api }) => {
    if (!(await findWorkspace(api, workspaceId))) throw workspaceNotFound(workspaceId);
    const filters = { queues: queue?.split(",") ?? null, states: paused ? (["paused"] as const) : readStates(state) };
    const calendars = new Calendars();
    const read = (before: ScheduleId | null, limit: number) => listSchedules(api, { workspaceId, ...filters, before, limit });
    const show = (schedule: Schedule) => listedOf(schedule, nextRuns(schedule, calendars, next));
    await printPages((limit) => readScans(read, limit, show), COLUMNS, options, tableRows);
  });
}

function readStates(text: string | undefined): ScheduleState[] | null {
  const states = text?.split(",") ?? null;
  const unknown = states?.find((state) => !(SCHEDULE_STATES as readonly string[]).includes(state));
  if (unknown !== undefined) throw new Error(`"${unknown}" is not a state of a schedule: they are ${SCHEDULE_STATES.join(" and ")}.`);
  return states as ScheduleState[] | null;
}

/**
 * The next runs, in milliseconds since 1970. A paused schedule has none. When this program cannot read the schedule's time zone, only
 * the stored next run is known.
 */
function nextRuns({ next_run_at, ...schedule }: Schedule, calendars: Calendars, limit: number): number[] {
  const calendar = readOrNull(calendars, schedule);
  const runs: number[] = [];
  let runMs = next_run_at === null ? null : momentMs(next_run_at);
  while (runMs !== null && runs.length < limit) {
    runs.push(runMs);
    runMs = calendar?.next(runMs) ?? null;
  }
  return runs;
}

/** Null for a time zone that the ICU of this machine's Node does not know; the ICU of a service's node may know it. */
function readOrNull(calendars: Calendars, { cron, timezone }: Pick<Schedule, "cron" | "timezone">): ReturnType<Calendars["of"]> | null {
  try {
    return calendars.of(cron, timezone);
  } catch {
    return null;
  }
}

const listedOf = ({ name, queue, cron, timezone, paused, last_run_at }: Schedule, runs: readonly number[]) => ({
  name,
  queue,
  cron,
  timezone,
  state: paused ? "paused" : "active",
  next_runs: runs.map((ms) => ({ run_at: toMoment(ms), in_timezone: showMoment(timezone, ms), local: showMoment(undefined, ms) })),
  last_run_at,
});

/** One row per next run, or one row when there is none. Only the first row has the schedule's other columns. */
function tableRows({ next_runs: [first, ...more], last_run_at, ...schedule }: ReturnType<typeof listedOf>): Record<string, unknown>[] {
  const cells = (run: typeof first) => ({ next_run_in_timezone: run?.in_timezone, next_run_local: run?.local });
  const last_run_local = last_run_at === null ? null : showMoment(undefined, momentMs(last_run_at));
  return [{ ...schedule, ...cells(first), last_run_local }, ...more.map(cells)];
}

/** A moment like "2026-11-22 02:30:00 +01:00", in a time zone or, without one, in local time. */
function showMoment(timezone: string | undefined, ms: number): string {
  try {
    return showIn(timezone, ms);
  } catch (error) {
    if (error instanceof RangeError) return `${showIn("UTC", ms)} (UTC: the time zone is not known here)`;
    throw error;
  }
}

function showIn(timeZone: string | undefined, ms: number): string {
  const two = "2-digit";
  // Swedish dates are in the format of ISO 8601, except for the minus sign of the offset.
  const parts = { year: "numeric", month: two, day: two, hour: two, minute: two, second: two, timeZoneName: "longOffset" } as const;
  return new Intl.DateTimeFormat("sv-SE", { timeZone, ...parts }).format(ms).replace("GMT", "").replace("−", "-");
}
