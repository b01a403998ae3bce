import { type DestinationStream, pino } from "pino";
import type { Events } from "./events.ts";

/** Writes events as JSON lines to standard error, or to `stream`. */
export function logEvents(events: Events, level: string, stream: DestinationStream = pino.destination({ dest: 2, sync: true })): void {
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { error: showError } }, stream);
  events.subscribe((event, fields, severity) => {
    if (log.isLevelEnabled(severity)) log[severity](fields, event);
  });
}

/** The properties of an error that may be logged. Others can contain rows (pg's `detail`) or whole requests with their keys. */
function showError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return { name, code, message, stack, ...(cause instanceof Error && { cause: showError(cause) }) };
}
