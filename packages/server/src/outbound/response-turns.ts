/** How long responses are read in one turn of the event loop. Milliseconds. */
const TURN_MS = 4;

/** A connection whose response is read. */
export interface ReadConnection {
  /** The origin to which it leads. */
  readonly origin: string;
  /** Continues to read. */
  readonly resume: () => void;
}

/**
 * Shares the event loop's time for reading responses. Hundreds that come at once would hold it for 100 ms or more. The rest waits for later
 * turns, in which origins take turns.
 */
export class ResponseTurns {
  readonly #nowMs: () => number;
  /** Connections that wait to be read, by origin. */
  readonly #waiting = new Map<string, Set<ReadConnection>>();
  /** When the time of this turn is over. Null: nothing was read in it yet. */
  #untilMs: number | null = null;
  /** Whether anything was read in this turn: something is read in each turn, however late it is. */
  #hasRead = false;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Whether the connection may be read now. If not, its `resume` is called in a later turn. */
  mayRead(connection: ReadConnection): boolean {
    const line = this.#waiting.get(connection.origin);
    if (line?.has(connection)) return false;
    if (this.#untilMs === null) this.#begin();
    if (this.#isOver) {
      if (line) line.add(connection);
      else this.#waiting.set(connection.origin, new Set([connection]));
      return false;
    }
    this.#hasRead = true;
    return true;
  }

  get #isOver(): boolean {
    return this.#hasRead && this.#untilMs !== null && this.#nowMs() >= this.#untilMs;
  }

  #begin(): void {
    this.#untilMs = this.#nowMs() + TURN_MS;
    this.#hasRead = false;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#untilMs = null;
    if (this.#waiting.size === 0) return;
    this.#begin();
    for (let next = this.#takeNext(); next; next = this.#isOver ? undefined : this.#takeNext()) next.resume();
  };

  #takeNext(): ReadConnection | undefined {
    for (const [origin, line] of this.#waiting) {
      this.#waiting.delete(origin);
      const [first] = line;
      if (!first) continue;
      line.delete(first);
      // The origin goes to the end.
      if (line.size > 0) this.#waiting.set(origin, line);
      return first;
    }
    return undefined;
  }
}
