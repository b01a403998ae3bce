import type { SchedulePreview } from "@tidemill/contract";
import { toMoment } from "#kernel";
import type { Calendar, Calendars } from "./calendar.ts";
import { checkCalendar } from "./check-calendar.ts";
import { showLocal } from "./show.ts";
import { WallClock } from "./wall-clock.ts";

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;

/** What to preview. */
export interface Preview {
  readonly cron: string;
  readonly timezone: string;
  readonly count: number;
  /** The number of days for which to count ticks; null: none. */
  readonly days: number | null;
}

/**
 * The first `count` ticks after a moment, or fewer when there are no more; and the days from that of the moment on,
 * by the clocks of the zone, each with the number of its ticks.
 *
 * @param afterMs milliseconds since 1970
 * @throws VALIDATION_ERROR for an expression that cannot be read or never fires, and for an unknown time zone
 */
export function previewSchedule(calendars: Calendars, { cron, timezone, count, days }: Preview, afterMs: number): SchedulePreview {
  const calendar = checkCalendar(calendars, { cron, timezone });
  const clock = new WallClock(timezone);
  const runs: SchedulePreview["runs"] = [];
  for (let ms = calendar.next(afterMs); ms !== null && runs.length < count; ms = calendar.next(ms)) {
    runs.push({ run_at: toMoment(ms), local: showLocal(ms, clock.offsetMs(ms)) });
  }
  return { cron, timezone, runs, ...(days !== null && { days: countDays(calendar, clock, afterMs, days) }) };
}

/** The number of ticks is computed, so that a pattern that fires each second costs no more than others. */
function countDays(calendar: Calendar, clock: WallClock, fromMs: number, days: number): NonNullable<SchedulePreview["days"]> {
  const firstMs = Math.floor((fromMs + clock.offsetMs(fromMs)) / DAY_MS) * DAY_MS;
  return Array.from({ length: days }, (_, at) => {
    const wallMs = firstMs + at * DAY_MS;
    const [startMs, endMs] = [clock.firstShowingMs(wallMs), clock.firstShowingMs(wallMs + DAY_MS)];
    const runs = calendar.count(startMs, endMs);
    const moment = (ms: number | null | undefined) => (runs === 0 || ms === null || ms === undefined ? null : toMoment(ms));
    return {
      day: toMoment(wallMs).slice(0, 10),
      runs,
      first_at: moment(calendar.next(startMs - SECOND_MS)),
      last_at: moment(calendar.newest(startMs - SECOND_MS, endMs - SECOND_MS, 1)[0]),
    };
  });
}
