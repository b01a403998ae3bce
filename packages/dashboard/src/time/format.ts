const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  const made = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  });
  formats.set(zone, made);
  return made;
}

function partsOf(ms: number, zone: string): Record<string, string> {
  return Object.fromEntries(
    formatOf(zone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, value]),
  );
}

/** `2026-11-21 13:00:00 GMT+1`. With `millis`, the seconds have a fraction. */
export function formatExact(ms: number, zone: string, { millis = false } = {}): string {
  const { year, month, day, hour, minute, second, timeZoneName } = partsOf(ms, zone);
  const fraction = millis ? `.${String(((ms % 1000) + 1000) % 1000).padStart(3, "0")}` : "";
  return `${year}-${month}-${day} ${hour}:${minute}:${second}${fraction} ${timeZoneName}`;
}

/** `13:00:00`, for times that are close together. */
export function formatClock(ms: number, zone: string): string {
  const { hour, minute, second } = partsOf(ms, zone);
  return `${hour}:${minute}:${second}`;
}

/** `2026-11-21`. */
export function formatDay(ms: number, zone: string): string {
  const { year, month, day } = partsOf(ms, zone);
  return `${year}-${month}-${day}`;
}

/** `12 s ago`, `in 3 min`, `now`. A moment between `nowMs` and `latestMs`, a few seconds later, is `now`, and not in the future. */
export function formatRelative(ms: number, nowMs: number, latestMs: number = nowMs): string {
  const distance = Math.abs(ms - nowMs);
  if (distance < SECOND || (ms > nowMs && ms <= latestMs)) return "now";
  const text = roughly(distance);
  return ms < nowMs ? `${text} ago` : `in ${text}`;
}

function roughly(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/** `850 ms`, `1.2 s`, `3.2 min`, `1.4 h`: short, for the axes of charts. */
export function formatRough(ms: number): string {
  const [size, name] =
    ms < SECOND ? [1, "ms"] : ms < MINUTE ? [SECOND, "s"] : ms < HOUR ? [MINUTE, "min"] : ms < DAY ? [HOUR, "h"] : [DAY, "d"];
  return `${Number((ms / size).toFixed(1))} ${name}`;
}

/** `850 ms`, `1.24 s`, `3 min 12 s`, `2 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(2)} s`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < HOUR) return two(ms, MINUTE, "min", SECOND, "s");
  if (ms < DAY) return two(ms, HOUR, "h", MINUTE, "min");
  return two(ms, DAY, "d", HOUR, "h");
}

function two(ms: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % big) / small);
  return `${Math.floor(ms / big)} ${bigName}${rest > 0 ? ` ${rest} ${smallName}` : ""}`;
}
