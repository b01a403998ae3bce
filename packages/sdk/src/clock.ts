/** Seconds since 1970, by the clock of this machine. */
export const nowSeconds = (): number => Date.now() / 1000;

/** Milliseconds since 1970, by the clock of this machine. */
export const nowMs = (): number => Date.now();

/** Milliseconds since the process began. This clock only goes forward, whatever happens to the clock of the machine. */
export const elapsedMs = (): number => performance.now();

/** A moment: a Date, or RFC 3339 text. */
export type Moment = Date | string;

/** RFC 3339 in UTC, with milliseconds. */
export const momentText = (ms: number): string => new Date(ms).toISOString();

/** @returns milliseconds since 1970; NaN if it is not a moment */
export const momentMs = (moment: Moment): number => new Date(moment).getTime();

export const isInvalidDate = (given: unknown): boolean => given instanceof Date && Number.isNaN(given.getTime());
