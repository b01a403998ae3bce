const FIRST_MS = 25;
const MAX_MS = 1_000;

/**
 * When to claim again from a lane whose jobs other transactions hold. Most hold them for a moment. A job that is held for long is handed
 * out late by a quarter of that time at most, and costs one claim a second.
 */
export const busyRetryMs = (busyForMs: number): number => Math.min(MAX_MS, FIRST_MS + busyForMs / 4);
