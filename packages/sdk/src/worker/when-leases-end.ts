/** When a call was sent for the first and the last time, and when the response came, by `elapsedMs`. */
export interface CallTimes {
  readonly firstSentMs: number;
  readonly lastSentMs: number;
  readonly respondedMs: number;
}

/** How much the clocks of the worker and the service may drift apart. */
const MAX_DRIFT = 0.01;

/**
 * Until when what a call took is held, by `elapsedMs`.
 *
 * The service took it `waitedMs` after it received the last try, at the earliest, which was not before that try was sent. Without `waitedMs`,
 * it may have been as soon as the first try was sent.
 *
 * If the call took less than `waitedMs` by the worker's clock, that clock was stopped meanwhile, for example since the machine was suspended.
 * It is not known for how long, and the leases may have ended: nothing is left of them when the response comes. A shorter stop is not noticed
 * if the response comes late enough, nor any stop without `waitedMs`: then the leases end earlier than this says, by as long as it was.
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
