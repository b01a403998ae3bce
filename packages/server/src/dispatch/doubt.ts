/** A statement whose answer is lost may still be running; the database ends it before this. Milliseconds. */
const DOUBT_MS = 60_000;
const LOOK_EVERY_MS = 1_000;

/**
 * The answer to a statement that claims may be lost after its commit: then this node holds jobs that it does not know of, and
 * nobody would take them back while it lives (I2). From such a failure on it looks, for a minute, what it holds.
 */
export class Doubt {
  #untilMs = 0;
  #nextLookMs = 0;

  raise(nowMs: number): void {
    this.#untilMs = nowMs + DOUBT_MS;
    this.#nextLookMs = nowMs;
  }

  /** Whether to look now. */
  isDue(nowMs: number): boolean {
    if (nowMs >= this.#untilMs || nowMs < this.#nextLookMs) return false;
    this.#nextLookMs = nowMs + LOOK_EVERY_MS;
    return true;
  }
}
