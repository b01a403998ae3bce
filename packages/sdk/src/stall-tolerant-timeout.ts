/** A timer that is this late: the event loop was stalled. Milliseconds. */
const LATE_MS = 10;
const MAX_GRACE_MS = 1_000;

export interface StallTolerantTimeout {
  clear(): void;
}

/**
 * Like `setTimeout`, for deadlines on incoming data. After the event loop was stalled, timers run before the data that has arrived in the
 * meantime is read. So if this timer is late, it waits once more for as long as it was late, at most a second. The server has a copy of its
 * own, because the SDK contains no code of other packages.
 */
export function setStallTolerantTimeout(callback: () => void, ms: number): StallTolerantTimeout {
  const dueMs = performance.now() + Math.max(0, ms);
  let timer: ReturnType<typeof setTimeout> = setTimeout(() => {
    const lateMs = performance.now() - dueMs;
    if (lateMs < LATE_MS) callback();
    else timer = setTimeout(callback, Math.min(lateMs, MAX_GRACE_MS));
  }, ms);
  return { clear: () => clearTimeout(timer) };
}
