/** How often the time is checked. Milliseconds. */
const LOOK_MS = 250;
/** A check that is at least this late means that the event loop was stalled. Milliseconds. */
const LATE_MS = 1_000;
/** The maximum time that it takes to read what has arrived in the meantime. Milliseconds. */
export const RECENT_MS = 1_000;

/**
 * Notices that the event loop was stalled, because the process was stopped or one turn took long. Afterwards, timers run before sockets are
 * read: data, and the ends of connections, that have arrived in the meantime. A suspended machine is not noticed if its clock was stopped
 * with it.
 */
class EventLoopStalls {
  #seenMs = performance.now();
  /** Whether the time since the last check has already been counted. */
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

  /** How often the event loop was stalled. */
  get count(): number {
    this.#notice();
    return this.#count;
  }

  /**
   * Whether the event loop was stalled until less than a second ago. Then timers are late, and data that has arrived may not have been read
   * yet.
   */
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
