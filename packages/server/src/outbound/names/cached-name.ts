import type { LookupResult } from "./lookup.ts";
import type { Resolution } from "./resolution.ts";

/** Bounds of how long addresses are used, whatever their time to live. Seconds. */
const MIN_TTL_SECONDS = 1;
const MAX_TTL_SECONDS = 300;
/** A failure is used for less than most backoffs, so that each attempt of a job has a look-up of its own. Milliseconds. */
const FAILURE_MS = 100;
/** While a name cannot be looked up again, its last addresses are used, for at most this long. Source: RFC 8767. Milliseconds. */
const STALE_MS = 60_000;
const STALE_RETRY_MS = 5_000;

export interface CachedName {
  readonly resolution: Resolution;
  readonly untilMs: number;
  /** Until when the name's addresses are used instead of a failure. */
  readonly staleUntilMs: number;
}

/** What is cached about a name after a look-up. */
export function cachedAfter({ resolution, ttlSeconds }: LookupResult, before: CachedName | undefined, nowMs: number): CachedName {
  if (resolution.kind === "found") {
    const untilMs = nowMs + 1_000 * Math.min(Math.max(ttlSeconds, MIN_TTL_SECONDS), MAX_TTL_SECONDS);
    return { resolution, untilMs, staleUntilMs: untilMs + STALE_MS };
  }
  const isStale = isTemporary(resolution) && before && before.staleUntilMs > nowMs;
  return isStale ? { ...before, untilMs: nowMs + STALE_RETRY_MS } : { resolution, untilMs: nowMs + FAILURE_MS, staleUntilMs: 0 };
}

/** Whether the name may still exist. */
const isTemporary = ({ error }: Extract<Resolution, { kind: "failed" }>): boolean =>
  error.code === "EAI_AGAIN" || error.code === "LOOKUP_NOT_RUN";
