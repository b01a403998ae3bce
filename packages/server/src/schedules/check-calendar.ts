import { invalid } from "#kernel";
import { type Calendar, type Calendars, CronError, UnknownZoneError } from "./calendar.ts";

/**
 * The calendar of what a request names.
 *
 * @throws VALIDATION_ERROR for an expression that cannot be read or never fires, and for a time zone that is none
 */
export function checkCalendar(calendars: Calendars, { cron, timezone }: { cron: string; timezone: string }): Calendar {
  try {
    return calendars.of(cron, timezone);
  } catch (error) {
    if (error instanceof CronError) throw invalid("cron", error.message);
    throw error instanceof UnknownZoneError ? invalid("timezone", error.message) : error;
  }
}
