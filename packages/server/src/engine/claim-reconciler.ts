/** A statement whose response was lost may still run. The database ends it before this. Milliseconds. */
const LOOK_FOR_MS = 60_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Decides when to look for unknown claims. The response to a claim can be lost after its commit: then this node holds jobs that it does
 * not know of, and no other node takes them back while this one lives (I2). After such a failure the node looks for a minute.
 */
export class ClaimReconciler {
  #untilMs = 0;
  #nextLookMs = 0;

  /** A claim failed, perhaps after its commit. */
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
