import { invalid, type ProblemError, problem } from "#kernel";
import { type Calendar, type Calendars, CronError, UnknownZoneError } from "./calendar.ts";

interface Pattern {
  readonly cron: string;
  readonly timezone: string;
}

/**
 * The calendar of what a request names.
 *
 * @throws VALIDATION_ERROR for an expression that cannot be read or never fires, and for a time zone that is none
 */
export const checkCalendar = (calendars: Calendars, pattern: Pattern): Calendar => read(calendars, pattern, invalid);

/**
 * The calendar of a stored schedule.
 *
 * @throws INVALID_STATE when this program does not read it any more, a zone that its rules do not have say
 */
export const calendarOf = (calendars: Calendars, { cron, timezone }: Pattern): Calendar =>
  read(calendars, { cron, timezone }, (path, message) =>
    problem("INVALID_STATE", { cron, timezone }, { message: `PATCH the schedule's ${path}: ${message}.` }),
  );

function read(calendars: Calendars, { cron, timezone }: Pattern, refuse: (path: keyof Pattern, message: string) => ProblemError): Calendar {
  try {
    return calendars.of(cron, timezone);
  } catch (error) {
    if (error instanceof CronError) throw refuse("cron", error.message);
    throw error instanceof UnknownZoneError ? refuse("timezone", error.message) : error;
  }
}
