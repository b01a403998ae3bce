import type { EmitEvent } from "./events.ts";
import type { Random } from "./random.ts";
import type { Service } from "./service.ts";
import { setStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 10_000;

export interface LoopOptions {
  readonly name: string;
  /** The wait between two passes. A random part of up to a tenth is subtracted, so that nodes spread out. Milliseconds. */
  readonly everyMs: number;
  /** One pass. If it returns a number of milliseconds that is shorter than `everyMs`, the next pass starts after that. */
  readonly pass: () => Promise<unknown>;
  /**
   * Whether a pass that is late because the event loop was stalled lets the data that has arrived in the meantime be read first
   * (`setStallTolerantTimeout`).
   */
  readonly isPatient?: boolean;
}

/**
 * Runs `pass` repeatedly, never twice at the same time. A pass that fails is reported (`loop_failed`) and tried again after a wait
 * that doubles from 250 ms up to 10 s. `wake` starts a pass now, or after the running pass if there is one.
 */
export class PeriodicLoop implements Service {
  readonly #options: LoopOptions;
  readonly #emit: EmitEvent;
  readonly #random: Random;
  #clearTimer = () => {};
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = true;
  #failures = 0;

  constructor(options: LoopOptions, emit: EmitEvent, random: Random) {
    this.#options = options;
    this.#emit = emit;
    this.#random = random;
  }

  /** The first pass starts now, or after `waitMs`. */
  start(waitMs = 0): void {
    this.#stopped = false;
    if (waitMs === 0) this.wake();
    else this.#wakeIn(waitMs);
  }

  wake(): void {
    if (this.#stopped) return;
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#clearTimer();
    this.#running = this.#run();
  }

  /** The same, unless the loop waits after a pass that failed. */
  wakeUnlessFailed(): void {
    if (this.#failures === 0) this.wake();
  }

  /** Waits until a running pass has ended. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Stops the loop, and waits for a running pass to end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#clearTimer();
    await this.#running;
  }

  async #run(): Promise<void> {
    let waitMs: number;
    do {
      this.#again = false;
      waitMs = await this.#passOnce();
    } while (this.#again && !this.#stopped && this.#failures === 0);
    // Cleared immediately: a wake-up from now on begins a pass.
    this.#running = undefined;
    if (!this.#stopped) this.#wakeIn(waitMs);
  }

  #wakeIn(ms: number): void {
    const wake = () => this.wake();
    if (this.#options.isPatient) {
      this.#clearTimer = setStallTolerantTimeout(wake, ms).clear;
      return;
    }
    const timer = setTimeout(wake, ms);
    this.#clearTimer = () => clearTimeout(timer);
  }

  async #passOnce(): Promise<number> {
    const { everyMs, name, pass } = this.#options;
    try {
      const result = await pass();
      const soonerMs = typeof result === "number" ? result : everyMs;
      this.#failures = 0;
      return Math.min(soonerMs, everyMs * (1 - this.#random.fraction() / 10));
    } catch (error) {
      this.#failures += 1;
      this.#emit("loop_failed", { loop: name, failures: this.#failures, error });
      return Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(this.#failures - 1, 8), MAX_BACKOFF_MS);
    }
  }
}
