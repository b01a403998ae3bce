/** A timer that is this late: the event loop was stalled. Milliseconds. */
const LATE_MS = 10;
const MAX_GRACE_MS = 1_000;

export interface StallTolerantTimeout {
  clear(): void;
}

/**
 * As `setTimeout`, for what is over when nothing has come in time. After the event loop was stalled, timers come before what has arrived in
 * sockets meanwhile. Then it waits once more, for as long as it was late, at most a second. packages/sdk/src/stall-tolerant-timeout.ts does the same.
 *
 * @param latestMs how long after its time it comes at most, if the event loop does not stall again
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
