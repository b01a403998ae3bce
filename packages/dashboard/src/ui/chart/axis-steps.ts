const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The largest step of an axis of counts, as a power of ten. */
const MAX_EXPONENT = 15;

/** Distances between the lines of an axis of counts. Half a job is none. */
export const COUNT_STEPS: readonly number[] = Array.from({ length: MAX_EXPONENT }, (_, exponent) =>
  [1, 2, 5].map((digit) => digit * 10 ** exponent),
).flat();

/** Distances between the lines of an axis of durations, each a whole number of a unit that people read. Milliseconds. */
export const DURATION_STEPS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].map((days) => days * DAY),
];
