import { invalid, type ProblemError, problem } from "#kernel";
import { type Calendar, type Calendars, CronError, UnknownZoneError } from "./calendar.ts";

interface Pattern {
  readonly cron: string;
  readonly timezone: string;
}

/**
 * The calendar of a request's cron expression and time zone.
 *
 * @throws VALIDATION_ERROR for an expression that cannot be read or never fires, and for an unknown time zone
 */
export const checkCalendar = (calendars: Calendars, pattern: Pattern): Calendar => read(calendars, pattern, invalid);

/**
 * The calendar of a stored schedule.
 *
 * @throws INVALID_STATE when this node cannot read it, for example because its ICU does not know the time zone
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
