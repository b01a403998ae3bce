import type { Readable } from "node:stream";

/** How long results are read in one turn of the event loop. Connections divide it equally. Milliseconds. */
const TURN_MS = 3;
/**
 * The minimum that is read from each connection in a turn, because turns may be long and therefore few: as much as Node reads at once.
 * Bytes.
 */
const MIN_BYTES = 64 * 1024;

/** A connection whose results are read. */
export class ReadConnection {
  readonly stream: Readable;
  /** The last turn in which a part of a long result was read. */
  turn = -1;
  /** How much was read in that turn. */
  bytes = 0;
  /** How long that took. */
  spentMs = 0;

  constructor(stream: Readable) {
    this.stream = stream;
  }
}

/**
 * Shares the event loop's time for reading long results. Node reads up to 2 MiB from each connection in one turn, and a megabyte takes a
 * millisecond or more. The rest waits for later turns.
 */
export class ReadTurns {
  readonly #nowMs: () => number;
  readonly #waiting = new Set<Readable>();
  #turn = 0;
  /** The number of connections whose long results are read in this turn, and were read in the last turn. */
  #connections = 0;
  #connectionsBefore = 0;
  #isPlanned = false;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Reads a part of a long result. The next part may have to wait for a later turn. */
  read(connection: ReadConnection, bytes: number, read: () => void): void {
    const beganMs = this.#nowMs();
    read();
    if (connection.turn !== this.#turn) {
      Object.assign(connection, { turn: this.#turn, bytes: 0, spentMs: 0 });
      this.#connections += 1;
    }
    connection.bytes += bytes;
    connection.spentMs += this.#nowMs() - beganMs;
    const partMs = TURN_MS / Math.max(this.#connections, this.#connectionsBefore);
    if (connection.spentMs >= partMs && connection.bytes >= MIN_BYTES) {
      connection.stream.pause();
      this.#waiting.add(connection.stream);
    }
    this.#plan();
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#turn += 1;
    this.#connectionsBefore = this.#connections;
    this.#connections = 0;
    this.#isPlanned = false;
    for (const stream of this.#waiting) stream.resume();
    this.#waiting.clear();
  };
}
