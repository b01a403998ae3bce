import { type DestinationStream, pino } from "pino";
import type { Events } from "./events.ts";

/** Writes events as JSON lines to standard error, or to `stream`. */
export function logEvents(events: Events, level: string, stream: DestinationStream = pino.destination({ dest: 2, sync: true })): void {
  const log = pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { error: pino.stdSerializers.err } },
    stream,
  );
  events.subscribe((event, fields, severity) => {
    if (log.isLevelEnabled(severity)) log[severity](fields, event);
  });
}
