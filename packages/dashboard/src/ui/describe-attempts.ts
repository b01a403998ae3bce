import { formatRough } from "../time/format.ts";

/** How often something is tried, in words: `3, the second after 1 s`. */
export const describeAttempts = (attempts: number, delayMs: number): string =>
  attempts === 1 ? "1" : `${attempts}, the second after ${formatRough(delayMs)}`;
