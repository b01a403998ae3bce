/** Until when an attempt waits for its response, by the elapsed time of the node's clock. Milliseconds. */
export class AttemptDeadline {
  #beganMs = Number.POSITIVE_INFINITY;
  #untilMs = Number.POSITIVE_INFINITY;

  /** The request is being sent. */
  begin(nowMs: number, timeoutMs: number): void {
    this.#beganMs = nowMs;
    this.#untilMs = nowMs + timeoutMs;
  }

  /** @param stalledMs for how long the node was stalled since the last call. The part of it after `begin` does not count */
  isOver(nowMs: number, stalledMs: number): boolean {
    if (nowMs > this.#beganMs) this.#untilMs += Math.min(stalledMs, nowMs - this.#beganMs);
    return nowMs >= this.#untilMs;
  }
}
