const FIRST_MS = 25;
const MAX_MS = 1_000;

/**
 * When to claim again from a lane whose jobs other transactions have locked, usually for a moment. A job that is locked for long is handed
 * out late by at most a quarter of that time, and costs one claim per second.
 */
export const busyRetryMs = (busyForMs: number): number => Math.min(MAX_MS, FIRST_MS + busyForMs / 4);
