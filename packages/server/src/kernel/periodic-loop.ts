import type { EmitEvent } from "./events.ts";
import type { Random } from "./random.ts";
import type { Service } from "./service.ts";

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 10_000;

export interface LoopOptions {
  readonly name: string;
  /** Wait between two passes, less up to a tenth by chance so that nodes spread out. Milliseconds. */
  readonly everyMs: number;
  /** One pass. If it returns a number, that is the wait before the next in milliseconds, if that is sooner. */
  readonly pass: () => Promise<unknown>;
}

/**
 * Runs `pass` again and again, never twice at once. A pass that fails is reported (`loop_failed`) and tried again after a
 * wait that doubles from a quarter of a second up to 10 s. `wake` asks for a pass now; asked for during one, another follows it.
 */
export class PeriodicLoop implements Service {
  readonly #options: LoopOptions;
  readonly #emit: EmitEvent;
  readonly #random: Random;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = true;
  #failures = 0;

  constructor(options: LoopOptions, emit: EmitEvent, random: Random) {
    this.#options = options;
    this.#emit = emit;
    this.#random = random;
  }

  start(): void {
    this.#stopped = false;
    this.wake();
  }

  wake(): void {
    if (this.#stopped) return;
    if (this.#running) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Ends the loop, once the pass under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    let waitMs: number;
    do {
      this.#again = false;
      waitMs = await this.#passOnce();
    } while (this.#again && !this.#stopped && this.#failures === 0);
    if (!this.#stopped) this.#timer = setTimeout(() => this.wake(), waitMs);
  }

  async #passOnce(): Promise<number> {
    const { everyMs, name, pass } = this.#options;
    try {
      const answer = await pass();
      const soonerMs = typeof answer === "number" ? answer : everyMs;
      this.#failures = 0;
      return Math.min(soonerMs, everyMs * (1 - this.#random.fraction() / 10));
    } catch (error) {
      this.#failures += 1;
      this.#emit("loop_failed", { loop: name, failures: this.#failures, error });
      return Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(this.#failures - 1, 8), MAX_BACKOFF_MS);
    }
  }
}
