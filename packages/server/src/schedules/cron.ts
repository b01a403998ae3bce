import { LIMITS } from "@tidemill/contract";
import { CronDate, CronPattern } from "croner";
import { dateAt } from "#kernel";

/** A cron expression that cannot be read. Its message says what is wrong, and where. */
export class CronError extends Error {
  override readonly name = "CronError";
}

const NICKNAMES = ["@hourly", "@daily", "@weekly", "@monthly", "@yearly"];

/** The fields in their order, each with what it takes and the longest step that croner does. */
const FIELDS = [
  ["second", "0 to 59", 60],
  ["minute", "0 to 59", 60],
  ["hour", "0 to 23", 24],
  ["day of month", "1 to 31, L (the last day), LW (the last weekday), 15W (the weekday nearest to the 15th)", 31],
  ["month", "1 to 12, JAN to DEC", 12],
  ["day of week", "0 to 7 (0 and 7 are Sunday), SUN to SAT, 5L (the last Friday), 1#2 (the second Monday)", 7],
] as const;

/** Day of month and day of week, when neither is `*`: either matches, as in crontab. */
const DAYS = { domAndDow: false };

/** croner's own fixed offset: its clock then shows what it is given, and asks nobody about time zones. */
const NO_OFFSET = 0;

/**
 * The times at which a cron expression matches, of a clock that knows nothing of time zones: here "milliseconds since 1970" are those
 * that the clock shows, as if it were in UTC.
 */
export class Cron {
  readonly #pattern: CronPattern;
  /** It fires every hour or oftener on the days that it fires on. */
  readonly isEveryHour: boolean;

  constructor(pattern: CronPattern) {
    this.#pattern = pattern;
    // 10,000 numbers, 80 kB, which croner reads only for patterns with a year.
    pattern.year = [];
    this.isEveryHour = pattern.hour.every((fires) => fires > 0);
  }

  /** The first match after that time; null past the year 2999. Milliseconds, whole seconds. */
  after(ms: number): number | null {
    return new CronDate(dateAt(ms), NO_OFFSET).increment(this.#pattern, DAYS, false)?.getTime() ?? null;
  }

  /** The last match at that time or before. */
  upTo(ms: number): number | null {
    return new CronDate(dateAt(ms + 1_000), NO_OFFSET).decrement(this.#pattern, DAYS)?.getTime() ?? null;
  }
}

/**
 * Reads a cron expression: five fields, six with seconds first, or a nickname. Source: contract §6; croner's dialect without `?`, `+` and years.
 *
 * @throws {CronError} for anything else, and for what never fires
 */
export function readCron(text: string): Cron {
  if (text.length > LIMITS.cronLength) throw new CronError(`must be no longer than ${LIMITS.cronLength} characters`);
  const cron = new Cron(text.startsWith("@") ? parseNickname(text) : parseFields(text));
  // The calendar repeats itself after 400 years, and that is how far croner looks.
  if (cron.after(0) === null) throw new CronError(`${JSON.stringify(text)} never fires: no month has such a day`);
  return cron;
}

function parseNickname(text: string): CronPattern {
  if (!NICKNAMES.includes(text)) throw new CronError(`${JSON.stringify(text)} is not one of ${NICKNAMES.join(", ")}`);
  return parse(text);
}

function parseFields(text: string): CronPattern {
  const fields = text.split(/[ \t]+/).filter((field) => field !== "");
  if (fields.length !== 5 && fields.length !== 6) {
    throw new CronError(
      `has ${fields.length} fields: it takes 5 (minute, hour, day of month, month, day of week), 6 with seconds first, or one of ${NICKNAMES.join(", ")}`,
    );
  }
  const pattern = fields.every(isPlain) && tryParse(text);
  return pattern || blame(fields);
}

/** Tells which field is wrong, in a person's words: croner's own messages count days and months from 0. */
function blame(fields: string[]): never {
  for (const [at, [name, takes, longestStep]] of FIELDS.slice(-fields.length).entries()) {
    const field = fields[at] ?? "";
    const alone = fields.map((other, place) => (place === at ? other : "*"));
    if (isPlain(field) && tryParse(alone.join(" "))) continue;
    throw new CronError(
      `${name} ${JSON.stringify(field)} cannot be read: it takes ${takes}, *, lists (1,3), ranges (1-3) and steps of 1 to ${longestStep} (*/2, 1-5/2)`,
    );
  }
  throw new CronError("cannot be read");
}

/** Without what croner takes besides: `?`, and `+` for both days. */
const isPlain = (field: string): boolean => /^[\dA-Z*,/#-]+$/i.test(field);

const parse = (text: string): CronPattern => new CronPattern(text, undefined, { mode: "5-or-6-parts" });

function tryParse(text: string): CronPattern | null {
  try {
    return parse(text);
  } catch {
    return null;
  }
}
