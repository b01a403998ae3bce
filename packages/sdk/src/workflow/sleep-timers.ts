import type { Execution } from "./execution.ts";
import type { RequestedStep } from "./requested-step.ts";

/** Ends sleeps while other steps are in progress, so that a sleep can win a race against them. The service ends all other sleeps. */
export class SleepTimers {
  readonly #execution: Execution;
  readonly #signal: AbortSignal;
  readonly #started = new Set<RequestedStep>();

  /** @param signal aborted when the execution has ended */
  constructor(execution: Execution, signal: AbortSignal) {
    this.#execution = execution;
    this.#signal = signal;
  }

  /**
   * Starts the timers of sleeps that have none. A sleep that is not being stored may depend on a failure that is not stored either (I8).
   */
  start(): void {
    const { waiting, executing, host } = this.#execution;
    if (executing.size === 0) return;
    for (const [step, endsMs] of waiting.storedSleeps) {
      if (this.#started.has(step)) continue;
      this.#started.add(step);
      const ms = Math.max(0, endsMs - host.nowMs());
      const end = () => {
        this.#started.delete(step);
        if (executing.size > 0) this.#execution.endSleep(step);
      };
      void host.timer(ms, this.#signal).then(end, () => {});
    }
  }
}
