import { nowMs, toMoment } from "./clock.ts";
import { formatDay } from "./format.ts";

/** A day of a month, as the clocks of a zone show it. */
export interface CalendarDay {
  /** `2026-03-29`. */
  readonly day: string;
  /** How far the clocks are set forward (positive) or back (negative) on this day. Minutes; 0 on almost all days. */
  readonly shiftMinutes: number;
  /** The time that does not exist or occurs twice: from when to when, by the clocks before the change. */
  readonly shifted: string | null;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const formats = new Map<string, Intl.DateTimeFormat>();

/** How far a zone is from UTC at a moment. Minutes. */
function offsetMinutes(ms: number, zone: string): number {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  formats.set(zone, format);
  const {
    year = 0,
    month = 1,
    day = 1,
    hour = 0,
    minute = 0,
    second = 0,
  } = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  return Math.round((Date.UTC(year, month - 1, day, hour, minute, second) - ms) / MINUTE_MS);
}

/** When a day begins by the clocks of a zone. Milliseconds since 1970. */
export function startOfDay(day: string, zone: string): number {
  const utc = Date.parse(`${day}T00:00:00Z`);
  const guess = utc - offsetMinutes(utc, zone) * MINUTE_MS;
  return utc - offsetMinutes(guess, zone) * MINUTE_MS;
}

/** The month in which a zone is now: `2026-11`. */
export const monthNow = (zone: string): string => formatDay(nowMs(), zone).slice(0, 7);

/** The month that comes `by` months later. */
export function monthAfter(month: string, by: number): string {
  const [year = 0, index = 1] = month.split("-").map(Number);
  return toMoment(Date.UTC(year, index - 1 + by, 1)).slice(0, 7);
}

/** The days of a month, each with the change of the clocks in it. */
export function daysOf(month: string, zone: string): CalendarDay[] {
  const days: CalendarDay[] = [];
  for (let ms = Date.parse(`${month}-01T00:00:00Z`); toMoment(ms).startsWith(month); ms += DAY_MS)
    days.push(dayOf(toMoment(ms).slice(0, 10), zone));
  return days;
}

function dayOf(day: string, zone: string): CalendarDay {
  const from = startOfDay(day, zone);
  const to = startOfDay(toMoment(Date.parse(`${day}T00:00:00Z`) + DAY_MS).slice(0, 10), zone);
  const before = offsetMinutes(from, zone);
  const shiftMinutes = offsetMinutes(to - 1, zone) - before;
  if (shiftMinutes === 0) return { day, shiftMinutes, shifted: null };
  // The last moment with the offset of the beginning of the day.
  let [low, high] = [from, to];
  while (high - low > MINUTE_MS) {
    const middle = Math.floor((low + high) / 2 / MINUTE_MS) * MINUTE_MS;
    if (offsetMinutes(middle, zone) === before) low = middle;
    else high = middle;
  }
  const clock = (ms: number) => toMoment(ms + before * MINUTE_MS).slice(11, 16);
  // Forward: these times do not exist. Back: these occur twice.
  const shifted =
    shiftMinutes > 0
      ? `${clock(high)}–${clock(high + shiftMinutes * MINUTE_MS)}`
      : `${clock(high + shiftMinutes * MINUTE_MS)}–${clock(high)}`;
  return { day, shiftMinutes, shifted };
}
