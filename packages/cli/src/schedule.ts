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
import { allPages } from "./all-pages.ts";
import { printJson, printTable } from "./table.ts";
import { withDatabase } from "./with-database.ts";
import { idOf } from "./workspace.ts";

interface ListOptions {
  /** How many next runs to show of each. */
  readonly next: number;
  readonly queue?: string;
  readonly paused?: boolean;
  readonly json?: boolean;
}

const COLUMNS = ["name", "queue", "cron", "state", "timezone", "next_run_in_timezone", "next_run_local", "last_run_local"];

/** `tidemill schedule list`: a workspace's schedules, newest first, with their next runs by the operator's clock and by their own. */
export async function listSchedulesCommand(workspace: string, { next, queue, paused, json }: ListOptions): Promise<void> {
  const workspaceId = idOf(workspace);
  await withDatabase(async ({ api }) => {
    if (!(await findWorkspace(api, workspaceId))) throw workspaceNotFound(workspaceId);
    const filters = { queues: queue === undefined ? null : [queue], states: paused ? (["paused"] as const) : null };
    const schedules = await allPages((before: ScheduleId | null, limit) => listSchedules(api, { workspaceId, ...filters, before, limit }));
    const calendars = new Calendars();
    const listed = schedules.map((schedule) => listedOf(schedule, nextRuns(schedule, calendars, next)));
    if (json) printJson(listed);
    else printTable(listed.flatMap(tableRows), COLUMNS);
  });
}

/**
 * The runs that are next, in milliseconds since 1970: none while it is paused, and the stored one alone where this program cannot
 * read the schedule.
 */
function nextRuns({ next_run_at, ...schedule }: Schedule, calendars: Calendars, most: number): number[] {
  const calendar = readOrNull(calendars, schedule);
  const runs: number[] = [];
  let runMs = next_run_at === null ? null : momentMs(next_run_at);
  while (runMs !== null && runs.length < most) {
    runs.push(runMs);
    runMs = calendar?.next(runMs) ?? null;
  }
  return runs;
}

/** Null for a time zone that this Node does not know, which another one's ICU may. */
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
  next_runs: runs.map((ms) => ({ run_at: toMoment(ms), in_timezone: showByClocksOf(timezone, ms), local: showByClocksOf(undefined, ms) })),
  last_run_at,
});

/** A row for each next run, or one without any; what they share stands in the first. */
function tableRows({ next_runs: [first, ...more], last_run_at, ...schedule }: ReturnType<typeof listedOf>): Record<string, unknown>[] {
  const cells = (run: typeof first) => ({ next_run_in_timezone: run?.in_timezone, next_run_local: run?.local });
  const last_run_local = last_run_at === null ? null : showByClocksOf(undefined, momentMs(last_run_at));
  return [{ ...schedule, ...cells(first), last_run_local }, ...more.map(cells)];
}

/** A moment as clocks show it, like "2026-11-22 02:30:00 +01:00": those of a time zone, or of this process. */
function showByClocksOf(timezone: string | undefined, ms: number): string {
  try {
    return showIn(timezone, ms);
  } catch (error) {
    if (error instanceof RangeError) return `${showIn("UTC", ms)} (UTC: the time zone is not known here)`;
    throw error;
  }
}

function showIn(timeZone: string | undefined, ms: number): string {
  const two = "2-digit";
  // Sweden writes dates as ISO 8601 does, but for the sign of the offset.
  const parts = { year: "numeric", month: two, day: two, hour: two, minute: two, second: two, timeZoneName: "longOffset" } as const;
  return new Intl.DateTimeFormat("sv-SE", { timeZone, ...parts }).format(ms).replace("GMT", "").replace("−", "-");
}
