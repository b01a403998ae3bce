/** A time zone that is not known by that name. */
export class UnknownZoneError extends Error {
  override readonly name = "UnknownZoneError";
}

/** IANA's names of three letters. ICU adds ambiguous ones of its own: its BST is Dhaka's, its CST Chicago's. */
const THREE_LETTERS = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/i;

const SECOND_MS = 1_000;
/**
 * No clock was ever set by more than a day, or twice within three days. The two nearest changes since 1850 are four days apart
 * (Freetown, 1939), since 1970 seven days.
 */
const DAY_MS = 86_400_000;

/**
 * The clocks of a time zone. A local time is given as the milliseconds since 1970 at which UTC shows the same time; such values are
 * named `wallMs` or `shownMs`.
 */
export class WallClock {
  readonly #format: Intl.DateTimeFormat;

  /** @throws {UnknownZoneError} when the text is not an IANA name; an offset like `+01:00` is not one */
  constructor(timezone: string) {
    this.#format = openFormat(timezone);
  }

  /** How far clocks are ahead of UTC at a moment. Milliseconds. */
  offsetMs(atMs: number): number {
    const [, sign, hours, minutes, seconds = "0"] = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(this.#format.format(atMs)) ?? [];
    const ms = (Number(hours ?? 0) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds)) * SECOND_MS;
    return sign === "-" ? -ms : ms;
  }

  /**
   * The first moment with another offset than at `fromMs`; null when the offset at `untilMs` is the same. The two may be at most three
   * days apart, so that there is at most one change between them.
   */
  changeBetween(fromMs: number, untilMs: number): number | null {
    const offsetMs = this.offsetMs(fromMs);
    if (this.offsetMs(untilMs) === offsetMs) return null;
    let [sameMs, otherMs] = [fromMs, untilMs];
    while (otherMs - sameMs > SECOND_MS) {
      const middleMs = sameMs + Math.floor((otherMs - sameMs) / 2 / SECOND_MS) * SECOND_MS;
      if (this.offsetMs(middleMs) === offsetMs) sameMs = middleMs;
      else otherMs = middleMs;
    }
    return otherMs;
  }

  /** The latest time that clocks have shown up to a moment. For a while after they are set back, this is later than what they show. */
  latestShownMs(byMs: number): number {
    const shownMs = byMs + this.offsetMs(byMs);
    const changeMs = this.changeBetween(byMs - DAY_MS, byMs);
    return changeMs === null ? shownMs : Math.max(shownMs, changeMs - SECOND_MS + this.offsetMs(changeMs - SECOND_MS));
  }

  /** The first moment at which clocks show a time or, when they skip it, a later one. */
  firstShowingMs(wallMs: number): number {
    // An offset is less than a day, so the moment is within a day of `wallMs`.
    const changeMs = this.changeBetween(wallMs - DAY_MS, wallMs + DAY_MS);
    const beforeMs = wallMs - this.offsetMs(wallMs - DAY_MS);
    if (changeMs === null || beforeMs < changeMs) return beforeMs;
    return Math.max(changeMs, wallMs - this.offsetMs(changeMs));
  }
}

function openFormat(timezone: string): Intl.DateTimeFormat {
  const isName = /^[A-Za-z]/.test(timezone) && (timezone.length !== 3 || THREE_LETTERS.test(timezone));
  try {
    // A format must show something in addition to the offset. Seconds are the fastest.
    if (isName) return new Intl.DateTimeFormat("en-US", { timeZone: timezone, second: "numeric", timeZoneName: "longOffset" });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new UnknownZoneError(`${JSON.stringify(timezone)} is not an IANA time zone like Europe/Berlin`);
}
