import { LIMITS } from "@tidemill/contract/limits";
import { givenText } from "../given-text.ts";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** How long: milliseconds, or a string such as "90s", "15m", "24h" or "7d". */
export type Duration = number | `${number}${keyof typeof UNITS}`;

/**
 * @param field what the caller calls it
 * @returns milliseconds
 * @throws {TypeError} if it is not a duration
 */
export function durationMs(field: string, duration: Duration): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(typeof duration === "string" ? duration : "") ?? [];
  const ms = typeof duration === "number" ? duration : Number(amount) * UNITS[unit as keyof typeof UNITS];
  if (Number.isFinite(ms) && ms >= 0) return ms;
  throw new TypeError(`${field} must be a number of milliseconds, or a string such as "90s", "24h" or "7d", not ${givenText(duration)}.`);
}

/** The longest sleep, or wait for a signal, in one step. */
const MAX_WAIT_MS = LIMITS.delaySeconds * UNITS.s;

/**
 * How long a step waits.
 *
 * @param field what the step calls it
 * @returns milliseconds
 * @throws {TypeError} if it is not a duration; {RangeError} for more than 365 days
 */
export function waitMs(field: string, duration: Duration): number {
  const ms = durationMs(field, duration);
  if (ms <= MAX_WAIT_MS) return ms;
  throw new RangeError(`${field} must be at most 365 days, not ${givenText(duration)}.`);
}
