/** How often it looks at the time. Milliseconds. */
const LOOK_MS = 250;
/** A look that is this late: the event loop was stalled. Milliseconds. */
const LATE_MS = 1_000;
/** How long it takes at most to read what has arrived meanwhile. Milliseconds. */
export const RECENT_MS = 1_000;

/**
 * Notices that the event loop was stalled, since the process was stopped or one turn took long. Afterwards, timers come before what has arrived in
 * sockets meanwhile: data, and the ends of connections. It does not notice that the machine was suspended, if its clock was stopped with it.
 */
class EventLoopStalls {
  #seenMs = performance.now();
  /** Whether the time since the last look is counted already. */
  #isCounted = false;
  #endedMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor() {
    const look = () => {
      this.#notice();
      this.#seenMs = performance.now();
      this.#isCounted = false;
    };
    setInterval(look, LOOK_MS).unref();
  }

  /** How often it was stalled. */
  get count(): number {
    this.#notice();
    return this.#count;
  }

  /** Whether timers are late, since it was stalled until less than a second ago: what has arrived may not be read yet. */
  get isRecent(): boolean {
    this.#notice();
    return performance.now() - this.#endedMs < RECENT_MS;
  }

  #notice(): void {
    const nowMs = performance.now();
    if (nowMs - this.#seenMs <= LOOK_MS + LATE_MS) return;
    this.#endedMs = nowMs;
    if (!this.#isCounted) this.#count += 1;
    this.#isCounted = true;
  }
}

export const stalls = new EventLoopStalls();
