type Log = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Where a worker and its jobs log: a message first, then its fields. `console` and winston fit; pino takes them the other way round. */
export interface Logger {
  readonly debug: Log;
  readonly info: Log;
  readonly warn: Log;
  readonly error: Log;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** A logger that adds fields to each line. */
export function withFields(logger: Logger, fields: Readonly<Record<string, unknown>>): Logger {
  const entries = LEVELS.map((level) => [level, (message: string, more = {}) => logger[level](message, { ...fields, ...more })] as const);
  return Object.fromEntries(entries) as unknown as Logger;
}
