import type { GateName } from "@tidemill/contract";
import { momentMs } from "#kernel";
import { waits } from "./holds.ts";
import type { Found } from "./store.ts";

const MINUTE_MS = 60_000;

/**
 * When the job will start if all goes on as it does now: when the last of the gates that hold it lets it through, each by itself.
 *
 * - `due`: at its `run_at`.
 * - `approval`: when it decides itself, if its queue approves then.
 * - `circuit`: at the next probe, which may close it.
 * - `key_concurrency`, `queue_concurrency`: once as many jobs have finished as have to before it, at the pace of the last minute. A key's
 *   pace is the queue's, shared equally by the jobs in flight, for as many as the key may have.
 * - `rate_limit`: when those before it and itself have their starts, which are free again in the order in which they were used.
 * - Nothing holds it: now if it is the first in line, else once those before it have gone at the pace of the last minute.
 *
 * @returns milliseconds since 1970, never before now. Null where nobody can know: a pause, a plan, an absent handler or an open
 *   approval ends when somebody ends it, no pace is known where nothing has finished, and what has started or finished starts no more
 */
export function estimateStart(found: Found, heldBy: readonly GateName[]): number | null {
  if (!waits(found)) return null;
  const nowMs = momentMs(found.now);
  const estimates = heldBy.length > 0 ? heldBy.map((gate) => ESTIMATES[gate](found, nowMs)) : [freeToGo(found, nowMs)];
  return estimates.includes(null) ? null : Math.max(nowMs, ...(estimates as number[]));
}

const unknown = () => null;

const ESTIMATES: Record<GateName, (found: Found, nowMs: number) => number | null> = {
  state: unknown,
  due: ({ run_at }) => momentMs(run_at),
  approval: ({ decide_at, approval_timeout, on_timeout }) =>
    decide_at !== null && approval_timeout !== null && on_timeout === "approve" ? momentMs(decide_at) : null,
  queue_paused: unknown,
  plan: unknown,
  handler: unknown,
  circuit: ({ probe_at }) => (probe_at === null ? null : momentMs(probe_at)),
  key_concurrency: (found, nowMs) => {
    const { key_ahead, key_active, concurrency_per_key, lane_active, finished_last_minute } = found;
    const share = lane_active === 0 ? 0 : Math.min(1, concurrency_per_key / lane_active);
    return afterFinished(key_ahead + key_active + 1 - concurrency_per_key, finished_last_minute * share, nowMs);
  },
  queue_concurrency: ({ ahead, concurrency, in_flight, finished_last_minute }, nowMs) =>
    afterFinished(ahead + 1 + (in_flight ?? 0) - (concurrency ?? 0), finished_last_minute, nowMs),
  rate_limit: whenStartIsFree,
  quota: unknown,
};

const freeToGo = ({ ahead, finished_last_minute }: Found, nowMs: number): number | null =>
  afterFinished(ahead, finished_last_minute, nowMs);

/** When so many more jobs will have finished, at so many in a minute. */
function afterFinished(jobs: number, perMinute: number, nowMs: number): number | null {
  if (jobs <= 0) return nowMs;
  return perMinute > 0 ? Math.ceil(nowMs + (jobs / perMinute) * MINUTE_MS) : null;
}

/**
 * When the start that is the job's is free. Those that are free now are taken now by those before it, so that the starts of one span
 * come free in the same order, as many and as far apart, in each span after it. What a lowered limit has too many of comes free for nobody.
 */
function whenStartIsFree({ expiries, started, starts_free, rate_max, rate_seconds, ahead }: Found, nowMs: number): number | null {
  if (started === null || starts_free === null || rate_max === null || rate_seconds === null) return null;
  const spanMs = rate_seconds * 1000;
  const turn = ahead - starts_free;
  const spans = Math.floor(turn / rate_max);
  let before = started + starts_free - rate_max + (turn % rate_max);
  for (const [ms, starts] of expiries) {
    if (before < starts) return Math.ceil(ms + spans * spanMs);
    before -= starts;
  }
  return nowMs + (spans + 1) * spanMs;
}
