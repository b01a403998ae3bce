type Log = (message: string, fields?: Readonly<Record<string, unknown>>) => void;

/** Where a worker and its jobs log: a message first, then its fields. `console` and winston fit; pino takes them the other way round. */
export interface Logger {
  readonly debug: Log;
  readonly info: Log;
  readonly warn: Log;
  readonly error: Log;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** @throws {TypeError} naming the method that is missing */
export function checkLogger(logger: Logger): Logger {
  for (const level of LEVELS) if (typeof logger?.[level] !== "function") throw new TypeError(`logger.${level} must be a function.`);
  return logger;
}

/** A logger that adds fields to each line. When the logger fails, the line is lost and nothing else happens. */
export function withFields(logger: Logger, fields: Readonly<Record<string, unknown>>): Logger {
  const entries = LEVELS.map((level) => [level, tolerant((message, more) => logger[level](message, { ...fields, ...more }))] as const);
  return Object.fromEntries(entries) as Record<(typeof LEVELS)[number], Log>;
}

function tolerant(log: (...line: Parameters<Log>) => unknown): Log {
  return (...line) => {
    try {
      void Promise.resolve(log(...line)).catch(() => {});
    } catch {
      // There is nowhere to log it.
    }
  };
}
