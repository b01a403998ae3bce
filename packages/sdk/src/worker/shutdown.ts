/** The steps of a stop that does not end by itself, in their order. */
export interface ShutdownSteps {
  /** Handlers and workflows are asked to end. */
  readonly abort: () => void;
  /** Jobs and runs that have not ended are given back. */
  readonly release: () => void;
  /** Nothing more is reported. */
  readonly giveUp: () => void;
}

/** The last part of a stop, at most: for handlers whose signals are aborted, and for reports. Milliseconds. */
const MAX_RESERVE_MS = 5_000;

/**
 * When the steps of a stop come. Milliseconds after its begin.
 *
 * @param timeoutMs how long the stop may take
 */
export function shutdownTimes(timeoutMs: number): Readonly<Record<keyof ShutdownSteps, number>> {
  const reserveMs = Math.min(MAX_RESERVE_MS, timeoutMs / 2);
  return { abort: timeoutMs - reserveMs, release: timeoutMs - reserveMs * 0.8, giveUp: timeoutMs };
}

/** Takes these steps in time. Returns what ends that. */
export function planShutdown(timeoutMs: number, steps: ShutdownSteps): () => void {
  const times = shutdownTimes(timeoutMs);
  const timers = (["abort", "release", "giveUp"] as const).map((step) => setTimeout(steps[step], times[step]));
  return () => {
    for (const timer of timers) clearTimeout(timer);
  };
}
