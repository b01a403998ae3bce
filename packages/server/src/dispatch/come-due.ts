import { type Clock, type Db, type EmitEvent, Loop, type Random } from "#kernel";
import type { LaneKey } from "./claim.ts";
import { moveDueAcrossWorkspaces } from "./store.ts";

const MOST_ROWS = 1_000;

export interface ComeDueOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly everyMs: number;
  readonly onWaiting: (lanes: LaneKey[]) => void;
}

/** Moves delayed jobs into the claimable set when they come due: at the moment known to be next, and at every poll. */
export class ComeDue {
  readonly #options: ComeDueOptions;
  readonly #loop: Loop;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(options: ComeDueOptions) {
    this.#options = options;
    this.#loop = new Loop({ name: "come-due", everyMs: options.everyMs, pass: () => this.#pass() }, options.emit, options.random);
  }

  start(): void {
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  /** A job will be due then. Milliseconds since 1970. */
  expect(ms: number): void {
    const inMs = Math.max(0, ms - this.#options.clock.nowMs());
    const atMs = this.#options.clock.elapsedMs() + inMs;
    // What is further off than a poll is found by one.
    if (inMs > this.#options.everyMs || atMs >= this.#timerAtMs) return;
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

  async #pass(): Promise<number | undefined> {
    const { moved, lanes, nextInMs } = await moveDueAcrossWorkspaces(this.#options.db, MOST_ROWS);
    if (lanes.length > 0) this.#options.onWaiting(lanes);
    if (moved === MOST_ROWS) return 0;
    return nextInMs === null ? undefined : Math.max(1, nextInMs);
  }
}
