/** Local time, as a wall clock shows it. Months and days count from 1, weekdays from 0 for Sunday. */
export interface Shown {
  readonly month: number;
  readonly day: number;
  readonly daysLeft: number;
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** What a clock shows whose time is written as if it were UTC's, in milliseconds since 1970. */
export function shownAt(wallMs: number): Shown {
  const date = new Date(wallMs);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return {
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    daysLeft: lastDay - date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  };
}

/** A cron expression, with its meaning in words. All fire at full or half minutes. */
export interface Pattern {
  readonly cron: string;
  /** Whether it fires every hour or more often. */
  readonly hourly: boolean;
  readonly matches: (shown: Shown) => boolean;
}

const hourly = (cron: string, matches: Pattern["matches"]): Pattern => ({ cron, hourly: true, matches });
const daily = (cron: string, matches: Pattern["matches"]): Pattern => ({ cron, hourly: false, matches });
const at =
  (hour: number, minute: number): Pattern["matches"] =>
  (shown) =>
    shown.hour === hour && shown.minute === minute && shown.second === 0;
const both =
  (...all: Pattern["matches"][]): Pattern["matches"] =>
  (shown) =>
    all.every((matches) => matches(shown));

/** Patterns that fire so rarely that ten years can be checked. */
export const RARE: Pattern[] = [
  daily(
    "@weekly",
    both(at(0, 0), ({ weekday }) => weekday === 0),
  ),
  daily(
    "30 2 * * 0",
    both(at(2, 30), ({ weekday }) => weekday === 0),
  ),
  daily(
    "0 2 * * SUN#1",
    both(at(2, 0), ({ weekday, day }) => weekday === 0 && day <= 7),
  ),
  daily(
    "30 0 * * SUNL",
    both(at(0, 30), ({ weekday, daysLeft }) => weekday === 0 && daysLeft < 7),
  ),
  daily(
    "@monthly",
    both(at(0, 0), ({ day }) => day === 1),
  ),
  daily(
    "30 1 L * *",
    both(at(1, 30), ({ daysLeft }) => daysLeft === 0),
  ),
  daily(
    "0 0 1,15 * MON",
    both(at(0, 0), ({ day, weekday }) => day === 1 || day === 15 || weekday === 1),
  ),
  daily(
    "0 12 30 DEC *",
    both(at(12, 0), ({ day, month }) => day === 30 && month === 12),
  ),
  daily(
    "@yearly",
    both(at(0, 0), ({ day, month }) => day === 1 && month === 1),
  ),
  daily("30 30 2 1-7 * *", ({ day, hour, minute, second }) => day <= 7 && hour === 2 && minute === 30 && second === 30),
];

/** Patterns that are checked around changes of offset. */
export const FREQUENT: Pattern[] = [
  daily("30 2 * * *", at(2, 30)),
  hourly("@hourly", ({ minute, second }) => minute === 0 && second === 0),
  hourly("45 * * * *", ({ minute, second }) => minute === 45 && second === 0),
  hourly("*/30 * * * *", ({ minute, second }) => minute % 30 === 0 && second === 0),
  hourly("5-20/5 0-23 * * *", ({ minute, second }) => minute >= 5 && minute <= 20 && minute % 5 === 0 && second === 0),
  hourly("20 * * * SUN", ({ weekday, minute, second }) => weekday === 0 && minute === 20 && second === 0),
  hourly("30 10,50 * * * *", ({ minute, second }) => (minute === 10 || minute === 50) && second === 30),
  daily("@daily", at(0, 0)),
  daily(
    "0 3 * * FRI,SAT,SUN",
    both(at(3, 0), ({ weekday }) => weekday === 5 || weekday === 6 || weekday === 0),
  ),
  daily("30 1 * * *", at(1, 30)),
  daily("0 */2 * * *", ({ hour, minute, second }) => hour % 2 === 0 && minute === 0 && second === 0),
  daily("0 1-23/2 * * *", ({ hour, minute, second }) => hour % 2 === 1 && minute === 0 && second === 0),
  daily("*/20 1-3 * * *", ({ hour, minute, second }) => hour >= 1 && hour <= 3 && minute % 20 === 0 && second === 0),
  daily("5,35 0,1,2,23 * * *", ({ hour, minute, second }) => (hour <= 2 || hour === 23) && minute % 30 === 5 && second === 0),
  daily("*/30 15 2 * * *", ({ hour, minute }) => hour === 2 && minute === 15),
  daily("0 0,2,3 * * *", ({ hour, minute, second }) => [0, 2, 3].includes(hour) && minute === 0 && second === 0),
  daily(
    "0 2-22 * * 1-5",
    ({ weekday, hour, minute, second }) => weekday >= 1 && weekday <= 5 && hour >= 2 && hour <= 22 && minute === 0 && second === 0,
  ),
];
