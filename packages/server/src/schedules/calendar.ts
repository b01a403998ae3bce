import { LRUCache } from "lru-cache";
import { type Cron, readCron } from "./cron.ts";
import { WallClock } from "./wall-clock.ts";

export { CronError } from "./cron.ts";
export { UnknownZoneError } from "./wall-clock.ts";

/** The ticks of a schedule. Moments are milliseconds since 1970, ticks are whole seconds. */
export interface Calendar {
  /** The first tick after a moment; null when there is no further tick. */
  next(afterMs: number): number | null;
  /** The newest ticks t with `afterMs` < t <= `untilMs`, at most `limit`, oldest first. The cost depends on `limit`, not on the span. */
  newest(afterMs: number, untilMs: number, limit: number): number[];
  /**
   * How many ticks t there are with `fromMs` <= t < `untilMs`, which are whole seconds and at most two days apart. The ticks are not
   * visited one by one.
   */
  count(fromMs: number, untilMs: number): number;
}

const SECOND_MS = 1_000;
/** More than the offsets of any zone can differ (26 hours), and too short for two changes of an offset. */
const NEAR_MS = 36 * 3_600_000;
/** 3 kB each. Reading one again takes about 60 µs. */
const MAX_CALENDARS = 4_000;
/** 30 kB each. IANA has fewer time zones. */
const MAX_CLOCKS = 1_000;

/**
 * The calendar of a cron expression in a time zone. Source: contract §6.
 *
 * @throws {CronError} when the expression cannot be read or never fires
 * @throws {UnknownZoneError}
 */
export const readCalendar = (cron: string, timezone: string): Calendar => calendarOf(readCron(cron), new WallClock(timezone));

/** Reads calendars and caches them. */
export class Calendars {
  readonly #clocks = new LRUCache<string, WallClock>({ max: MAX_CLOCKS });
  readonly #calendars = new LRUCache<string, Calendar>({ max: MAX_CALENDARS });

  /** The same as `readCalendar`. */
  of(cron: string, timezone: string): Calendar {
    // Names of zones are case-insensitive: in lower case, each zone has one entry instead of one per spelling.
    const zone = timezone.toLowerCase();
    // The name of a zone contains no space, so no two calendars have the same key.
    const key = `${zone} ${cron}`;
    const known = this.#calendars.get(key);
    if (known) return known;
    const calendar = calendarOf(readCron(cron), this.#clockOf(zone, timezone));
    this.#calendars.set(key, calendar);
    return calendar;
  }

  #clockOf(zone: string, timezone: string): WallClock {
    const clock = this.#clocks.get(zone) ?? new WallClock(timezone);
    this.#clocks.set(zone, clock);
    return clock;
  }
}

const calendarOf = (cron: Cron, clock: WallClock): Calendar =>
  cron.isEveryHour ? new HourlyCalendar(cron, clock) : new DailyCalendar(cron, clock);

abstract class Ticks implements Calendar {
  protected readonly cron: Cron;
  protected readonly clock: WallClock;

  constructor(cron: Cron, clock: WallClock) {
    this.cron = cron;
    this.clock = clock;
  }

  abstract next(afterMs: number): number | null;
  abstract count(fromMs: number, untilMs: number): number;
  /** The last tick at or before a moment, which is a whole second. */
  protected abstract upTo(untilMs: number): number | null;

  newest(afterMs: number, untilMs: number, limit: number): number[] {
    const ticks: number[] = [];
    for (let tick = this.upTo(wholeSeconds(untilMs)); tick !== null && tick > afterMs && ticks.length < limit; ) {
      ticks.push(tick);
      tick = this.upTo(tick - SECOND_MS);
    }
    return ticks.reverse();
  }
}

/**
 * Each matching local time runs once, at the first moment at which clocks show this time or a later one. Times that clocks skip run
 * when the gap ends. Times that clocks show twice run the first time.
 */
class DailyCalendar extends Ticks {
  next(afterMs: number): number | null {
    const wallMs = this.cron.after(this.clock.latestShownMs(wholeSeconds(afterMs)));
    return wallMs === null ? null : this.clock.firstShowingMs(wallMs);
  }

  count(fromMs: number, untilMs: number): number {
    const shownBefore = (ms: number) => this.clock.latestShownMs(ms - SECOND_MS) + SECOND_MS;
    const matches = this.cron.count(shownBefore(fromMs), shownBefore(untilMs));
    const changeMs = this.clock.changeBetween(fromMs - SECOND_MS, untilMs - SECOND_MS);
    if (changeMs === null) return matches;
    // Times that clocks skip and the first one after them are the same tick.
    const skipped = this.cron.count(
      changeMs + this.clock.offsetMs(changeMs - SECOND_MS),
      changeMs + this.clock.offsetMs(changeMs) + SECOND_MS,
    );
    return matches - Math.max(0, skipped - 1);
  }

  protected upTo(untilMs: number): number | null {
    const wallMs = this.cron.upTo(this.clock.latestShownMs(untilMs));
    return wallMs === null ? null : this.clock.firstShowingMs(wallMs);
  }
}

/** Runs at every moment at which clocks show a matching time. It stays hourly when clocks are set forward or back. */
class HourlyCalendar extends Ticks {
  next(afterMs: number): number | null {
    let fromMs = wholeSeconds(afterMs);
    /** The search has got here; `offsetMs` is in force at this moment. */
    let sinceMs = fromMs;
    for (;;) {
      const offsetMs = this.clock.offsetMs(sinceMs);
      const wallMs = this.cron.after(fromMs + offsetMs);
      if (wallMs === null) return null;
      const tickMs = wallMs - offsetMs;
      const nearMs = Math.min(tickMs, sinceMs + NEAR_MS);
      const changeMs = this.clock.changeBetween(sinceMs, nearMs);
      if (changeMs === null && nearMs === tickMs) return tickMs;
      // Between here and NEAR_MS before `tickMs` there is no tick, whatever offset clocks change to.
      sinceMs = changeMs ?? Math.max(nearMs, tickMs - NEAR_MS);
      fromMs = changeMs === null ? sinceMs : changeMs - SECOND_MS;
    }
  }

  count(fromMs: number, untilMs: number): number {
    const offsetMs = this.clock.offsetMs(fromMs);
    const changeMs = this.clock.changeBetween(fromMs, untilMs - SECOND_MS);
    if (changeMs === null) return this.cron.count(fromMs + offsetMs, untilMs + offsetMs);
    return this.cron.count(fromMs + offsetMs, changeMs + offsetMs) + this.count(changeMs, untilMs);
  }

  protected upTo(untilMs: number): number | null {
    for (let fromMs = untilMs; ; ) {
      const offsetMs = this.clock.offsetMs(fromMs);
      const wallMs = this.cron.upTo(fromMs + offsetMs);
      if (wallMs === null) return null;
      const tickMs = wallMs - offsetMs;
      const nearMs = Math.max(tickMs, fromMs - NEAR_MS);
      const changeMs = this.clock.changeBetween(nearMs, fromMs);
      if (changeMs === null && nearMs === tickMs) return tickMs;
      fromMs = changeMs === null ? Math.min(nearMs, tickMs + NEAR_MS) : changeMs - SECOND_MS;
    }
  }
}

const wholeSeconds = (ms: number): number => Math.floor(ms / SECOND_MS) * SECOND_MS;
