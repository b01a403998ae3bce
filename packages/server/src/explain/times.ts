import { momentMs, type Timestamp } from "#kernel";

/** From this distance on, the absolute time is shown too. */
const ABSOLUTE_FROM_MS = 60_000;

const UNITS = [
  ["day", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** A future time relative to `now`: "in 29 s", "in 5 min (2026-11-21T12:05:00.000Z)", or "now" if it is past. */
export function fromNow(at: Timestamp, now: Timestamp): string {
  const ms = momentMs(at) - momentMs(now);
  if (ms <= 0) return "now";
  return `in ${showSeconds(Math.ceil(ms / 1000))}${absolute(at, ms)}`;
}

/** A past time relative to `now`: "just now", "29 s ago", "5 min ago (2026-11-21T11:55:00.000Z)". */
export function ago(at: Timestamp, now: Timestamp): string {
  const ms = momentMs(now) - momentMs(at);
  if (ms < 1000) return "just now";
  return `${showSeconds(Math.floor(ms / 1000))} ago${absolute(at, ms)}`;
}

/** How long ago a past time is: "29 s", "4 min". */
export const since = (at: Timestamp, now: Timestamp): string => showSeconds(Math.max(1, Math.floor((momentMs(now) - momentMs(at)) / 1000)));

const absolute = (at: Timestamp, ms: number): string => (ms < ABSOLUTE_FROM_MS ? "" : ` (${at})`);

/** A duration in its two largest units: "1 min 30 s", "2 h", "3 days 4 h". */
function showSeconds(seconds: number): string {
  const first = UNITS.findIndex(([, length]) => seconds >= length);
  let rest = seconds;
  const parts = UNITS.slice(first, first + 2).flatMap(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0 ? [] : [`${count} ${unit}${unit === "day" && count > 1 ? "s" : ""}`];
  });
  return parts.join(" ");
}
