import { formatRough } from "../time/format.ts";

/** How often something is tried, in words: `3, the second after 1 s`. */
export const describeAttempts = (attempts: number, delayMs: number | undefined): string =>
  attempts === 1 || delayMs === undefined ? String(attempts) : `${attempts}, the second after ${formatRough(delayMs)}`;
