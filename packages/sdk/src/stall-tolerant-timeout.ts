/** A timer that is this late: the event loop was stalled. Milliseconds. */
const LATE_MS = 10;
const MAX_GRACE_MS = 1_000;

export interface StallTolerantTimeout {
  clear(): void;
}

/**
 * As `setTimeout`, for what is over when nothing has come in time. After the event loop was stalled, timers come before what has arrived in
 * sockets meanwhile. Then it waits once more, for as long as it was late, at most a second. The server has its own, as the client contains no
 * code of others.
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
