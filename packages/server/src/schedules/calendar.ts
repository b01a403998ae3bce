import { LRUCache } from "lru-cache";
import { type Cron, readCron } from "./cron.ts";
import { WallClock } from "./wall-clock.ts";

export { CronError } from "./cron.ts";
export { UnknownZoneError } from "./wall-clock.ts";

/** When a schedule's ticks are. Moments are milliseconds since 1970, ticks whole seconds. */
export interface Calendar {
  /** The first tick after a moment; null when there is none any more. */
  next(afterMs: number): number | null;
  /** The newest ticks t with `afterMs` < t <= `untilMs`, at most `most`, oldest first. Costs by `most`, not by the span. */
  newest(afterMs: number, untilMs: number, most: number): number[];
}

const SECOND_MS = 1_000;
/** Longer than any two offsets of a zone differ (26 hours), and too short for two changes. */
const NEAR_MS = 36 * 3_600_000;
/** 3 kB each; reading one anew costs some 60 µs. */
const MAX_CALENDARS = 4_000;
/** 30 kB each; IANA has fewer. */
const MAX_CLOCKS = 1_000;

/**
 * The calendar of a cron expression, read in a time zone. Source: contract §6.
 *
 * @throws {CronError} when the expression cannot be read or never fires
 * @throws {UnknownZoneError}
 */
export const readCalendar = (cron: string, timezone: string): Calendar => calendarOf(readCron(cron), new WallClock(timezone));

/** Reads calendars, and caches them. */
export class Calendars {
  readonly #clocks = new LRUCache<string, WallClock>({ max: MAX_CLOCKS });
  readonly #calendars = new LRUCache<string, Calendar>({ max: MAX_CALENDARS });

  /** As `readCalendar`. */
  of(cron: string, timezone: string): Calendar {
    // Zones go by their names in any case, of which there are thousands.
    const zone = timezone.toLowerCase();
    // The name of a zone has no space in it, so no two calendars have one key.
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
  /** The last tick at a moment, given in whole seconds, or before. */
  protected abstract upTo(untilMs: number): number | null;

  newest(afterMs: number, untilMs: number, most: number): number[] {
    const ticks: number[] = [];
    for (let tick = this.upTo(wholeSeconds(untilMs)); tick !== null && tick > afterMs && ticks.length < most; ) {
      ticks.push(tick);
      tick = this.upTo(tick - SECOND_MS);
    }
    return ticks.reverse();
  }
}

/**
 * Each time that matches runs once, at the first moment at which the clocks show it or a later one: the times of a gap when it is over, and
 * those that come twice the first time.
 */
class DailyCalendar extends Ticks {
  next(afterMs: number): number | null {
    const wallMs = this.cron.after(this.clock.latestShownMs(wholeSeconds(afterMs)));
    return wallMs === null ? null : this.clock.firstShowingMs(wallMs);
  }

  protected upTo(untilMs: number): number | null {
    const wallMs = this.cron.upTo(this.clock.latestShownMs(untilMs));
    return wallMs === null ? null : this.clock.firstShowingMs(wallMs);
  }
}

/** Every moment at which the clocks show a time that matches: on through gaps and overlaps. */
class HourlyCalendar extends Ticks {
  next(afterMs: number): number | null {
    let fromMs = wholeSeconds(afterMs);
    /** The moment from which `offsetMs` has been in force, as far as looked. */
    let sinceMs = fromMs;
    for (;;) {
      const offsetMs = this.clock.offsetMs(sinceMs);
      const wallMs = this.cron.after(fromMs + offsetMs);
      if (wallMs === null) return null;
      const tickMs = wallMs - offsetMs;
      const nearMs = Math.min(tickMs, sinceMs + NEAR_MS);
      const changeMs = this.clock.changeBetween(sinceMs, nearMs);
      if (changeMs === null && nearMs === tickMs) return tickMs;
      // Nothing is due further than NEAR_MS from both ends, whatever the clocks are set to in between.
      sinceMs = changeMs ?? Math.max(nearMs, tickMs - NEAR_MS);
      fromMs = changeMs === null ? sinceMs : changeMs - SECOND_MS;
    }
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
