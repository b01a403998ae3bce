/** The stages of a stop that takes too long, in order. */
interface ShutdownSteps {
  /** Handlers and workflows are asked to end. */
  readonly abort: () => void;
  /** Jobs and runs that have not ended are released. */
  readonly release: () => void;
  /** Nothing more is reported. */
  readonly giveUp: () => void;
}

/** The longest last part of a stop: for work that continues after its signal is aborted, and for reports. Milliseconds. */
const MAX_RESERVE_MS = 5_000;

/**
 * Takes each stage when its time has come.
 *
 * @param timeoutMs how long the stop may take
 * @returns a function that cancels the stages that are still to come
 */
export function planShutdown(timeoutMs: number, { abort, release, giveUp }: ShutdownSteps): () => void {
  const reserveMs = Math.min(MAX_RESERVE_MS, timeoutMs / 2);
  const timers = [
    setTimeout(abort, timeoutMs - reserveMs),
    setTimeout(release, timeoutMs - reserveMs * 0.8),
    setTimeout(giveUp, timeoutMs),
  ];
  return () => {
    for (const timer of timers) clearTimeout(timer);
  };
}
