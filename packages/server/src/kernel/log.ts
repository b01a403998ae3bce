import { type DestinationStream, pino } from "pino";
import type { Events } from "./events.ts";
import { RepeatedFailures } from "./repeated-failures.ts";

/**
 * Writes events as JSON lines to standard error, or to `stream`. A warning that a failure of the database causes again and again is written
 * once a minute, with the number of those that were not (`omitted`), unless the level is `debug`.
 *
 * @param elapsedMs a clock that only moves forward
 */
export function logEvents(
  events: Events,
  level: string,
  stream: DestinationStream = pino.destination({ dest: 2, sync: true }),
  elapsedMs: () => number = () => performance.now(),
): void {
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { error: showError } }, stream);
  const repeated = new RepeatedFailures();
  events.subscribe((event, fields, severity) => {
    if (!log.isLevelEnabled(severity)) return;
    const omitted = severity === "warn" && level !== "debug" ? repeated.admit(event, fields.error, elapsedMs()) : 0;
    if (omitted !== null) log[severity](omitted === 0 ? fields : { ...fields, omitted }, event);
  });
}

/** The properties of an error that may be logged. Others can contain rows (pg's `detail`) or whole requests with their keys. */
function showError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return { name, code, message, stack, ...(cause instanceof Error && { cause: showError(cause) }) };
}
