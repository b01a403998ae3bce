/** Tells the time. Code gets its clock as an argument. Only this file reads the machine's clock. */
export interface Clock {
  /** Milliseconds since 1970 by the database's clock. */
  nowMs(): number;
  /** Milliseconds of a monotonic clock, for durations. */
  elapsedMs(): number;
}

/** The machine's clock, corrected by its measured difference from the database's clock. */
export class DatabaseClock implements Clock {
  #offsetMs = Date.now() - performance.now();

  nowMs(): number {
    return performance.now() + this.#offsetMs;
  }

  elapsedMs(): number {
    return performance.now();
  }

  /**
   * Sets the clock by the database's time, which was read between `sentMs` (by `elapsedMs`) and now. It changes the clock no more than this
   * proves: if a response took seconds, the time may have been read at any moment within them.
   */
  follow(databaseMs: number, sentMs: number): void {
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, databaseMs - performance.now()), databaseMs - sentMs);
  }
}

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

/** Milliseconds since 1970 of an RFC 3339 date and time. Null for any other text, and for a day that does not exist. */
export function parseMoment(text: string): number | null {
  const [, year, month, day] = RFC3339.exec(text) ?? [];
  const ms = Date.parse(text);
  if (year === undefined || Number.isNaN(ms) || Number(year) < 1970) return null;
  const daysInMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number(day) <= daysInMonth ? ms : null;
}

/** The three forms of an HTTP date (RFC 9110, §5.6.7) start with a weekday. The oldest form omits "GMT". */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/** Milliseconds since 1970 of an HTTP date, or null. */
export function parseHttpDate(text: string): number | null {
  const ms = HTTP_DATE.test(text) ? Date.parse(text.endsWith(" GMT") ? text : `${text} GMT`) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** Milliseconds since 1970 of a time that the service wrote itself, or that a schema has validated. */
export const momentMs = (moment: string): number => Date.parse(moment);

export const toMoment = (ms: number): string => new Date(ms).toISOString();

/** Converts a time for libraries that require a `Date`. */
export const dateAt = (ms: number): Date => new Date(ms);
