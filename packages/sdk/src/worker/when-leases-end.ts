/** When a call was sent for the first and the last time, and when the response came, by `elapsedMs`. */
export interface CallTimes {
  readonly firstSentMs: number;
  readonly lastSentMs: number;
  readonly respondedMs: number;
}

/** How much the clocks of the worker and the service may drift apart. */
const MAX_DRIFT = 0.01;

/**
 * When the leases of the jobs and runs that a call took end, by `elapsedMs`.
 *
 * The service took them no earlier than `waitedMs` after it received the last try, and it received that try no earlier than it was sent.
 * Without `waitedMs`, it may have taken them as soon as the first try was sent.
 *
 * If the call took less than `waitedMs` by the worker's clock, that clock was stopped in the meantime, for example because the machine was
 * suspended. Nobody knows for how long, and the leases may have ended: then this returns the time of the response, so that no time is left.
 * A shorter stop is not noticed if the response comes late enough, and without `waitedMs` no stop is noticed. In both cases the leases end
 * earlier than this says, by the length of the stop.
 */
export function whenLeasesEnd(
  { firstSentMs, lastSentMs, respondedMs }: CallTimes,
  waitedMs: number | null | undefined,
  leaseMs: number,
): number {
  if (typeof waitedMs !== "number") return firstSentMs + leaseMs;
  const takenMs = lastSentMs + waitedMs * (1 - MAX_DRIFT);
  return takenMs <= respondedMs ? takenMs + leaseMs : respondedMs;
}
