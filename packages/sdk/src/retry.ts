import type { TidemillError } from "./error.ts";

/** The part of a request that decides whether it may be sent again. */
export interface Repeatable {
  /** Whether the request has no further effect when it is carried out a second time. */
  readonly repeatable: boolean;
}

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
const JITTER = 0.25;

/**
 * Whether a failed request may be sent again. A 429 changed nothing. Without a response, or with a 5xx, the service may have carried the
 * request out: then only what can be repeated without harm is sent again.
 */
export function maySendAgain(error: TidemillError, { repeatable }: Repeatable): boolean {
  if (error.status === 429 || error.neverSent) return true;
  return repeatable && (error.status === null || error.status >= 500);
}

/**
 * How long to wait before the next try: at least as long as the response asked for, otherwise twice as long each time. A random part
 * spreads clients that failed together.
 *
 * @param tries number of tries so far, from 1
 * @param chance from 0 to 1
 * @returns milliseconds
 */
export function waitBeforeNext(error: TidemillError, tries: number, chance: number): number {
  const backoff = Math.min(FIRST_BACKOFF_MS * 2 ** (tries - 1), MAX_BACKOFF_MS);
  if (error.retryAfterMs === null) return backoff * (1 - chance / 2);
  return Math.max(error.retryAfterMs, FIRST_BACKOFF_MS) + chance * Math.max(error.retryAfterMs * JITTER, backoff);
}
