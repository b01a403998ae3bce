/** A timer that is at least this late means that the event loop was stalled. Milliseconds. */
const LATE_MS = 10;
const MAX_GRACE_MS = 1_000;

export interface StallTolerantTimeout {
  clear(): void;
}

/**
 * Like `setTimeout`, for deadlines on incoming data. After the event loop was stalled, timers run before the data that has arrived in the
 * meantime is read. So if this timer is late, it waits once more for as long as it was late, at most a second. The SDK has a copy of its
 * own (packages/sdk/src/stall-tolerant-timeout.ts), because it contains no code of other packages.
 *
 * @param latestMs how late it fires at most, if the event loop does not stall again
 */
export function setStallTolerantTimeout(
  callback: () => void,
  ms: number,
  latestMs: number = Number.POSITIVE_INFINITY,
): StallTolerantTimeout {
  const dueMs = performance.now() + Math.max(0, ms);
  let timer = setTimeout(() => {
    const lateMs = performance.now() - dueMs;
    const graceMs = Math.min(lateMs, MAX_GRACE_MS, latestMs - lateMs);
    if (lateMs < LATE_MS || graceMs <= 0) callback();
    else timer = setTimeout(callback, graceMs);
  }, ms);
  return { clear: () => clearTimeout(timer) };
}
