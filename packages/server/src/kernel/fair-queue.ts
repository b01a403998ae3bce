import { unavailable } from "./problem.ts";

interface Waiting {
  readonly start: () => void;
  readonly refuse: (error: Error) => void;
}

export interface FairQueueOptions {
  readonly maxConcurrent: number;
  /** How many may wait. Default: any number. */
  readonly maxWaiting?: number;
  /** The message of the error when too many wait. */
  readonly message?: string;
}

/**
 * Lets a few callers do something at the same time, while others wait in lines. The lines take turns, so that a long one delays the others
 * by one turn. When too many wait, the last caller of the longest line is refused.
 */
export class FairQueue {
  readonly #options: Required<FairQueueOptions>;
  /** The first line has the next turn. None is empty. */
  readonly #lines = new Map<string, Waiting[]>();
  #size = 0;
  #running = 0;

  constructor({ maxConcurrent, maxWaiting = Number.POSITIVE_INFINITY, message = "Too many are waiting." }: FairQueueOptions) {
    this.#options = { maxConcurrent, maxWaiting, message };
  }

  /**
   * @param of names the line
   * @throws UNAVAILABLE when too many are waiting
   */
  async run<T>(of: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#options.maxConcurrent) this.#running += 1;
    else await this.#wait(of);
    try {
      return await work();
    } finally {
      if (!this.#startNext()) this.#running -= 1;
    }
  }

  #wait(of: string): Promise<void> {
    return new Promise((start, refuse) => {
      if (this.#size >= this.#options.maxWaiting && !this.#makeRoomFor(of)) throw unavailable(this.#options.message);
      const line = this.#lines.get(of);
      if (line) line.push({ start, refuse });
      else this.#lines.set(of, [{ start, refuse }]);
      this.#size += 1;
    });
  }

  #startNext(): boolean {
    const [next] = this.#lines;
    if (!next) return false;
    const [of, line] = next;
    const first = line.shift();
    this.#size -= 1;
    this.#lines.delete(of);
    // The line goes to the end.
    if (line.length > 0) this.#lines.set(of, line);
    first?.start();
    return true;
  }

  /** Refuses the last of the longest line. Returns false when no line is longer than this one would be. */
  #makeRoomFor(of: string): boolean {
    const [longest, line] = [...this.#lines].reduce((a, b) => (b[1].length > a[1].length ? b : a));
    if (line.length <= (this.#lines.get(of)?.length ?? 0) + 1) return false;
    line.pop()?.refuse(unavailable(this.#options.message));
    if (line.length === 0) this.#lines.delete(longest);
    this.#size -= 1;
    return true;
  }
}
