import type { SchedulePreview } from "@tidemill/contract";
import { toMoment } from "#kernel";
import type { Calendars } from "./calendar.ts";
import { checkCalendar } from "./check-calendar.ts";
import { showLocal } from "./show.ts";
import { WallClock } from "./wall-clock.ts";

/**
 * The first `count` ticks after a moment, or fewer when there are no more.
 *
 * @param afterMs milliseconds since 1970
 * @throws VALIDATION_ERROR for an expression that cannot be read or never fires, and for an unknown time zone
 */
export function previewSchedule(
  calendars: Calendars,
  { cron, timezone, count }: { cron: string; timezone: string; count: number },
  afterMs: number,
): SchedulePreview {
  const calendar = checkCalendar(calendars, { cron, timezone });
  const clock = new WallClock(timezone);
  const runs: SchedulePreview["runs"] = [];
  for (let ms = calendar.next(afterMs); ms !== null && runs.length < count; ms = calendar.next(ms)) {
    runs.push({ run_at: toMoment(ms), local: showLocal(ms, clock.offsetMs(ms)) });
  }
  return { cron, timezone, runs };
}
