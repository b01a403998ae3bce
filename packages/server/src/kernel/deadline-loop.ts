import type { Clock } from "./clock.ts";
import type { EmitEvent } from "./events.ts";
import { type LoopOptions, PeriodicLoop } from "./periodic-loop.ts";
import type { Random } from "./random.ts";
import type { Service } from "./service.ts";

/** The longest wait of a timer: 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface DeadlineLoopOptions extends Pick<LoopOptions, "name" | "pass"> {
  /** Deadlines further away than this are left to the poll. Milliseconds. */
  readonly horizonMs: number;
}

/**
 * A loop that runs a pass when something is due: at the times given to `expect`, and after the wait that a pass returns. It does not
 * poll. One poll for all such loops finds what was not announced to this node (`DuePoll`).
 */
export class DeadlineLoop implements Service {
  readonly #horizonMs: number;
  readonly #clock: Clock;
  readonly #loop: PeriodicLoop;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor({ name, horizonMs, pass }: DeadlineLoopOptions, clock: Clock, emit: EmitEvent, random: Random) {
    this.#horizonMs = horizonMs;
    this.#clock = clock;
    this.#loop = new PeriodicLoop({ name, everyMs: MAX_TIMER_MS, pass }, emit, random);
  }

  /** Starts without a pass. The first poll of `DuePoll` wakes the loop if something is due. */
  start(): void {
    this.#loop.start(MAX_TIMER_MS);
  }

  wake(): void {
    this.#loop.wake();
  }

  /** The same, unless the loop waits after a pass that failed. */
  wakeUnlessFailed(): void {
    this.#loop.wakeUnlessFailed();
  }

  missed(): void {
    this.#loop.wake();
  }

  /** Runs a pass at this time, when something will be due. Milliseconds since 1970. */
  expect(ms: number): void {
    this.expectIn(ms - this.#clock.nowMs());
  }

  /** Runs a pass after this many milliseconds, when something will be due. */
  expectIn(waitMs: number): void {
    const inMs = Math.max(0, waitMs);
    const atMs = this.#clock.elapsedMs() + inMs;
    if (this.#stopped || inMs > this.#horizonMs || atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => {
      this.#timerAtMs = Number.POSITIVE_INFINITY;
      this.#loop.wake();
    }, inMs + 1);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#loop.stop();
  }
}
