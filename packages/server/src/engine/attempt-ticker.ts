const TICK_MS = 100;
/**
 * A tick that is at least this late means that the process was stalled. A tick that is less late means that the node was busy.
 * Milliseconds.
 */
const STALL_MS = 1_000;

export interface AttemptTickerOptions {
  /** Ends attempts that take too long. For `stalledMs` the process was stalled: that time does not count. */
  readonly enforceDeadlines: (stalledMs: number) => void;
  /** Called at each tick, after `enforceDeadlines`. If it returns false, the ticker stops. */
  readonly onTick: () => boolean;
}

/** Ticks while attempts are under way, so that they end at their deadlines even if nothing else happens. */
export class AttemptTicker {
  readonly #options: AttemptTickerOptions;
  #timer: NodeJS.Timeout | undefined;
  #tickedMs = 0;
  #hasSkippedDeadlines = false;

  constructor(options: AttemptTickerOptions) {
    this.#options = options;
  }

  /** Starts the ticker, unless it runs. */
  start(): void {
    if (this.#timer) return;
    this.#tickedMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  #tick(): void {
    this.#enforceDeadlines();
    if (this.#options.onTick()) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * After a late tick, timers run before the responses that have arrived in the meantime are read, and before waiting requests are written.
   * This uses the clock of the process: a test that moves the node's clock does not make a tick late.
   */
  #enforceDeadlines(): void {
    const nowMs = performance.now();
    const lateMs = nowMs - this.#tickedMs - TICK_MS;
    this.#tickedMs = nowMs;
    const stalledMs = lateMs >= STALL_MS ? lateMs : 0;
    this.#hasSkippedDeadlines = !this.#hasSkippedDeadlines && stalledMs === 0 && lateMs >= TICK_MS;
    if (!this.#hasSkippedDeadlines) this.#options.enforceDeadlines(stalledMs);
  }
}
