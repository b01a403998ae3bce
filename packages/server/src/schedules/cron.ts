import { LIMITS } from "@tidemill/contract";
import { CronDate, CronPattern } from "croner";
import { dateAt } from "#kernel";

/** A cron expression that cannot be read. Its message says what is wrong, and in which field. */
export class CronError extends Error {
  override readonly name = "CronError";
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

const NICKNAMES = ["@hourly", "@daily", "@weekly", "@monthly", "@yearly"];

/** The fields in their order: name, allowed values, and the longest step that croner accepts. */
const FIELDS = [
  ["second", "0 to 59", 60],
  ["minute", "0 to 59", 60],
  ["hour", "0 to 23", 24],
  ["day of month", "1 to 31, L (the last day), LW (the last weekday), 15W (the weekday nearest to the 15th)", 31],
  ["month", "1 to 12, JAN to DEC", 12],
  ["day of week", "0 to 7 (0 and 7 are Sunday), SUN to SAT, 5L (the last Friday), 1#2 (the second Monday)", 7],
] as const;

/** When neither day of month nor day of week is `*`, a day that matches either of them matches, as in crontab. */
const DAYS = { domAndDow: false };

/** With a fixed offset, croner takes times as they are given and does no time zone conversion. */
const NO_OFFSET = 0;

/**
 * The local times that a cron expression matches, without time zones. A local time is given as the milliseconds since 1970 at which
 * UTC shows the same time.
 */
export class Cron {
  readonly #pattern: CronPattern;
  /** Whether it matches in every hour of the days on which it matches. */
  readonly isEveryHour: boolean;

  constructor(pattern: CronPattern) {
    this.#pattern = pattern;
    // 10,000 numbers (80 kB), which croner reads only for patterns with a year.
    pattern.year = [];
    this.isEveryHour = pattern.hour.every((fires) => fires > 0);
  }

  /** How many matches there are from a time on until before another one. The cost is one search for each day. */
  count(fromMs: number, untilMs: number): number {
    let matches = 0;
    for (let dayMs = Math.floor(fromMs / DAY_MS) * DAY_MS; dayMs < untilMs; dayMs += DAY_MS) {
      const first = this.after(dayMs - SECOND_MS);
      if (first === null || first >= dayMs + DAY_MS) continue;
      matches += this.#before(Math.min(untilMs - dayMs, DAY_MS)) - this.#before(Math.max(fromMs - dayMs, 0));
    }
    return matches;
  }

  /** How many matches a day, if it has any, has before a time of day. */
  #before(timeMs: number): number {
    const { hour, minute, second } = this.#pattern;
    const [hours, minutes, seconds] = [
      Math.floor(timeMs / HOUR_MS),
      Math.floor((timeMs % HOUR_MS) / MINUTE_MS),
      Math.floor((timeMs % MINUTE_MS) / SECOND_MS),
    ];
    const inMinute = firing(second, 60);
    const matches = firing(hour, hours) * firing(minute, 60) * inMinute;
    if (!hour[hours]) return matches;
    return matches + firing(minute, minutes) * inMinute + (minute[minutes] ? firing(second, seconds) : 0);
  }

  /** The first match after a time; null when it would be after the year 2999. Milliseconds, a whole second. */
  after(ms: number): number | null {
    return new CronDate(dateAt(ms), NO_OFFSET).increment(this.#pattern, DAYS, false)?.getTime() ?? null;
  }

  /** The last match at or before a time. */
  upTo(ms: number): number | null {
    return new CronDate(dateAt(ms + 1_000), NO_OFFSET).decrement(this.#pattern, DAYS)?.getTime() ?? null;
  }
}

/** How many of a field's first values match. */
const firing = (field: readonly number[], values: number): number => field.slice(0, values).filter((fires) => fires > 0).length;

/**
 * Reads a cron expression: five fields, six with seconds first, or a nickname. Source: contract §6; croner's dialect without `?`, `+` and years.
 *
 * @throws {CronError} for anything else, and for an expression that never fires
 */
export function readCron(text: string): Cron {
  if (text.length > LIMITS.cronLength) throw new CronError(`must be no longer than ${LIMITS.cronLength} characters`);
  const cron = new Cron(text.startsWith("@") ? parseNickname(text) : parseFields(text));
  // The calendar repeats after 400 years, and croner looks that far ahead.
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
      `has ${fields.length} fields: it must have 5 (minute, hour, day of month, month, day of week), 6 with seconds first, or be one of ${NICKNAMES.join(", ")}`,
    );
  }
  const pattern = fields.every(isPlain) && tryParse(text);
  return pattern || throwForField(fields);
}

/** Says which field is wrong. croner's own messages would confuse callers: they count days and months from 0. */
function throwForField(fields: string[]): never {
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

/** Whether a field has only characters of our dialect. croner also accepts `?`, and `+` for days that must match both fields. */
const isPlain = (field: string): boolean => /^[\dA-Z*,/#-]+$/i.test(field);

const parse = (text: string): CronPattern => new CronPattern(text, undefined, { mode: "5-or-6-parts" });

function tryParse(text: string): CronPattern | null {
  try {
    return parse(text);
  } catch {
    return null;
  }
}
