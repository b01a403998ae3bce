import { wait } from "../wait.ts";

/**
 * Frees the permit that was acquired; a second call does nothing.
 *
 * @param afterMs frees it so much later. Milliseconds
 */
export type Release = (afterMs?: number) => void;

/** Permits, given in the order in which they were asked for. */
export class Semaphore {
  #free: number;
  #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  /** Rejects with the signal's reason when it aborts before there is a permit. */
  async acquire(signal: AbortSignal): Promise<Release> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#next(signal);
    let isHeld = true;
    return (afterMs = 0) => {
      if (!isHeld) return;
      isHeld = false;
      const free = () => this.#release();
      if (afterMs > 0) void wait(afterMs, signal).then(free, free);
      else free();
    };
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const withdraw = () => {
        this.#waiting = this.#waiting.filter((one) => one !== go);
        reject(signal.reason);
      };
      const go = () => {
        signal.removeEventListener("abort", withdraw);
        resolve();
      };
      signal.addEventListener("abort", withdraw, { once: true });
      this.#waiting.push(go);
    });
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}
