import type { Readable } from "node:stream";

/** How long results are read in one turn of the event loop. Milliseconds. */
const TURN_MS = 3;

/**
 * Shares the event loop's time for reading long results. Node reads up to 2 MiB of each connection in one turn, and a megabyte takes a
 * millisecond or more. Those that are left wait for later turns, in order.
 */
export class ReadTurns {
  readonly #nowMs: () => number;
  /** Connections that wait to be read. */
  readonly #waiting = new Set<Readable>();
  #beganMs = 0;
  /** How long was read in this turn. Milliseconds. */
  #spentMs = 0;
  #isPlanned = false;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** A part of a result is read. */
  begin(): void {
    this.#beganMs = this.#nowMs();
  }

  /** The part was read. More is read in a later turn, if the time of this one is over. */
  end(stream: Readable): void {
    this.#spentMs += this.#nowMs() - this.#beganMs;
    if (!this.#isPlanned) {
      this.#isPlanned = true;
      setImmediate(this.#turn);
    }
    if (this.#spentMs < TURN_MS) return;
    stream.pause();
    this.#waiting.add(stream);
  }

  readonly #turn = (): void => {
    this.#spentMs = 0;
    this.#isPlanned = this.#waiting.size > 0;
    if (!this.#isPlanned) return;
    setImmediate(this.#turn);
    for (const stream of this.#waiting) {
      this.#waiting.delete(stream);
      stream.resume();
    }
  };
}
