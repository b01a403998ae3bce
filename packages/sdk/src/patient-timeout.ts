/** A timer that is this late: the event loop stood still. Milliseconds. */
const STOOD_STILL_MS = 10;
const MAX_GRACE_MS = 1_000;

export interface PatientTimeout {
  clear(): void;
}

/**
 * As `setTimeout`, for what is over when nothing has come in time. After the event loop stood still, timers come before what has arrived in
 * sockets meanwhile. Then it waits once more, for as long as it was late, at most a second.
 */
export function setPatientTimeout(callback: () => void, ms: number): PatientTimeout {
  const dueMs = performance.now() + ms;
  let timer: ReturnType<typeof setTimeout> = setTimeout(() => {
    const lateMs = performance.now() - dueMs;
    if (lateMs < STOOD_STILL_MS) callback();
    else timer = setTimeout(callback, Math.min(lateMs, MAX_GRACE_MS));
  }, ms);
  return { clear: () => clearTimeout(timer) };
}
