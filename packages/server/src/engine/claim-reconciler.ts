/** A statement whose answer is lost may still be running; the database ends it before this. Milliseconds. */
const LOOK_FOR_MS = 60_000;
const LOOK_EVERY_MS = 1_000;

/**
 * The answer to a claim may be lost after its commit: then this node holds jobs that it does not know of, and no other node takes them
 * back while it lives (I2). After such a failure it looks for a minute what it holds.
 */
export class ClaimReconciler {
  #untilMs = 0;
  #nextLookMs = 0;

  raise(nowMs: number): void {
    this.#untilMs = nowMs + LOOK_FOR_MS;
    this.#nextLookMs = nowMs;
  }

  /** Whether to look now. */
  isDue(nowMs: number): boolean {
    if (nowMs >= this.#untilMs || nowMs < this.#nextLookMs) return false;
    this.#nextLookMs = nowMs + LOOK_EVERY_MS;
    return true;
  }
}
