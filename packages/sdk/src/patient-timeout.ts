/** A timer that is this late: the event loop stood still. Milliseconds. */
const LATE_MS = 10;
const MAX_GRACE_MS = 1_000;

export interface PatientTimeout {
  clear(): void;
}

/**
 * As `setTimeout`, for what is over when nothing has come in time. After the event loop stood still, timers come before what has arrived in
 * sockets meanwhile. Then it waits once more, for as long as it was late, at most a second. packages/server/src/kernel/patient-timeout.ts does the same.
 *
 * @param latestMs how long after its time it comes at most, if the event loop does not stand still again
 */
export function setPatientTimeout(callback: () => void, ms: number, latestMs: number = Number.POSITIVE_INFINITY): PatientTimeout {
  const dueMs = performance.now() + Math.max(0, ms);
  let timer: ReturnType<typeof setTimeout> = setTimeout(() => {
    const lateMs = performance.now() - dueMs;
    const graceMs = Math.min(lateMs, MAX_GRACE_MS, latestMs - lateMs);
    if (lateMs < LATE_MS || graceMs <= 0) callback();
    else timer = setTimeout(callback, graceMs);
  }, ms);
  return { clear: () => clearTimeout(timer) };
}
