import type { Clock } from "./clock.ts";
import type { EmitEvent } from "./events.ts";
import { Loop, type LoopOptions } from "./loop.ts";
import type { Random } from "./random.ts";

/** A loop that also passes at the moment known to be next: a pass may answer the wait until then, and `expect` brings it forward. */
export class Clockwork {
  readonly #everyMs: number;
  readonly #clock: Clock;
  readonly #loop: Loop;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(options: LoopOptions, clock: Clock, emit: EmitEvent, random: Random) {
    this.#everyMs = options.everyMs;
    this.#clock = clock;
    this.#loop = new Loop(options, emit, random);
  }

  start(): void {
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  /** Something will be due then. Milliseconds since 1970. */
  expect(ms: number): void {
    const inMs = Math.max(0, ms - this.#clock.nowMs());
    const atMs = this.#clock.elapsedMs() + inMs;
    // What is further off than a poll is found by one.
    if (inMs > this.#everyMs || atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => {
      this.#timerAtMs = Number.POSITIVE_INFINITY;
      this.#loop.wake();
    }, inMs + 1);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#loop.stop();
  }
}
