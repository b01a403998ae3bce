/** How often it looks at the time. Milliseconds. */
const LOOK_MS = 250;
/** A look that is this late: the event loop stood still. Milliseconds. */
const LATE_MS = 1_000;
/** How long it takes at most to read what has arrived meanwhile. Milliseconds. */
const RECENT_MS = 1_000;

/**
 * Notices that the event loop stood still, for example since the machine was suspended. Afterwards, timers come before what has arrived in
 * sockets meanwhile: data, and the ends of connections.
 */
export class StandStills {
  #seenMs = performance.now();
  #endedMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor() {
    setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** How often it stood still. */
  get count(): number {
    this.#look();
    return this.#count;
  }

  /** Whether it stood still until less than a second ago: what has arrived may not be read yet. */
  get isRecent(): boolean {
    this.#look();
    return performance.now() - this.#endedMs < RECENT_MS;
  }

  #look(): void {
    const nowMs = performance.now();
    if (nowMs - this.#seenMs > LOOK_MS + LATE_MS) {
      this.#count += 1;
      this.#endedMs = nowMs;
    }
    this.#seenMs = nowMs;
  }
}

export const standStills = new StandStills();
