/** Until when an attempt waits for its response. By the elapsed time of the node's clock, in milliseconds. */
export class AttemptDeadline {
  #beganMs = Number.POSITIVE_INFINITY;
  #untilMs = Number.POSITIVE_INFINITY;

  /** The request is being sent. */
  begin(nowMs: number, timeoutMs: number): void {
    this.#beganMs = nowMs;
    this.#untilMs = nowMs + timeoutMs;
  }

  /** @param stoodStillMs for how long the node stood still since the last look: as far as that was after the beginning, it does not count */
  isOver(nowMs: number, stoodStillMs: number): boolean {
    if (nowMs > this.#beganMs) this.#untilMs += Math.min(stoodStillMs, nowMs - this.#beganMs);
    return nowMs >= this.#untilMs;
  }
}
