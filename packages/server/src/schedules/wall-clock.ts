/** A time zone that is not known by that name. */
export class UnknownZoneError extends Error {
  override readonly name = "UnknownZoneError";
}

/** IANA's names of three letters. ICU knows more, of its own, that say one of several: its BST is Dhaka's, its CST Chicago's. */
const THREE_LETTERS = /^(?:CET|EET|EST|GMT|HST|MET|MST|PRC|ROC|ROK|UCT|UTC|WET)$/i;

const SECOND_MS = 1_000;
/**
 * No clock was ever set by more than a day, and none twice within three: the two nearest changes since 1850 are four days apart
 * (Freetown, 1939), since 1970 seven.
 */
const DAY_MS = 86_400_000;

/** The local clocks of a time zone. What they show is in milliseconds as well, those that UTC has when its clocks show the same. */
export class WallClock {
  readonly #format: Intl.DateTimeFormat;

  /** @throws {UnknownZoneError} for what is no IANA name; offsets are none */
  constructor(timezone: string) {
    this.#format = openFormat(timezone);
  }

  /** How far the clocks are ahead of UTC at a moment. Milliseconds. */
  offsetMs(atMs: number): number {
    const [, sign, hours, minutes, seconds = "0"] = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(this.#format.format(atMs)) ?? [];
    const ms = (Number(hours ?? 0) * 3_600 + Number(minutes ?? 0) * 60 + Number(seconds)) * SECOND_MS;
    return sign === "-" ? -ms : ms;
  }

  /** The first moment at which another offset than at `fromMs` is in force; null when at `untilMs` it is the same. At most three days. */
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

  /** The latest time that the clocks have shown by a moment: after they were set back, for a while, not the one they show. */
  latestShownMs(byMs: number): number {
    const shownMs = byMs + this.offsetMs(byMs);
    const changeMs = this.changeBetween(byMs - DAY_MS, byMs);
    return changeMs === null ? shownMs : Math.max(shownMs, changeMs - SECOND_MS + this.offsetMs(changeMs - SECOND_MS));
  }

  /** The first moment at which the clocks show a time, or a later one when they skip it. */
  firstShowingMs(wallMs: number): number {
    // A zone's offset is less than a day, so the moment is within a day of what it would be in UTC.
    const changeMs = this.changeBetween(wallMs - DAY_MS, wallMs + DAY_MS);
    const beforeMs = wallMs - this.offsetMs(wallMs - DAY_MS);
    if (changeMs === null || beforeMs < changeMs) return beforeMs;
    return Math.max(changeMs, wallMs - this.offsetMs(changeMs));
  }
}

function openFormat(timezone: string): Intl.DateTimeFormat {
  const isName = /^[A-Za-z]/.test(timezone) && (timezone.length !== 3 || THREE_LETTERS.test(timezone));
  try {
    // The seconds are there because a format must show something besides the offset; they are the quickest.
    if (isName) return new Intl.DateTimeFormat("en-US", { timeZone: timezone, second: "numeric", timeZoneName: "longOffset" });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new UnknownZoneError(`${JSON.stringify(timezone)} is not an IANA time zone, Europe/Berlin say`);
}
