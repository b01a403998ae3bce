import { setImmediate } from "node:timers/promises";

export interface BatcherOptions<Item, Done> {
  /** Most weight (items, unless `weigh` says otherwise) in one write. */
  readonly most: number;
  /** How many writes may be under way at once. */
  readonly writers: number;
  readonly weigh?: (item: Item) => number;
  /** Writes items together; answers in their order. */
  readonly write: (items: Item[]) => Promise<Done[]>;
}

interface Waiting<Item, Done> {
  readonly item: Item;
  readonly weight: number;
  readonly resolve: (done: Done) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes together what arrives together: while a write is under way, what comes piles up and goes with the next one.
 * So a lone item waits for nothing, and a flood pays for one round trip per batch.
 */
export class Batcher<Item, Done> {
  readonly #options: BatcherOptions<Item, Done>;
  #queue: Waiting<Item, Done>[] = [];
  #weight = 0;
  #writing = 0;
  #idle: (() => void)[] = [];

  constructor(options: BatcherOptions<Item, Done>) {
    this.#options = options;
  }

  /** Weight of what waits for a write; what is being written does not count. */
  get waiting(): number {
    return this.#weight;
  }

  add(item: Item): Promise<Done> {
    return new Promise((resolve, reject) => {
      const weight = this.#options.weigh?.(item) ?? 1;
      this.#queue.push({ item, weight, resolve, reject });
      this.#weight += weight;
      if (this.#writing < this.#options.writers) {
        this.#writing += 1;
        void this.#drain();
      }
    });
  }

  /** Waits until all that was added is written. */
  async settled(): Promise<void> {
    if (this.#writing === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #drain(): Promise<void> {
    // What else arrives in this turn of the event loop joins the first write.
    await setImmediate();
    while (this.#queue.length > 0) await this.#writeOnce(this.#take());
    this.#writing -= 1;
    if (this.#writing === 0) for (const tell of this.#idle.splice(0)) tell();
  }

  #take(): Waiting<Item, Done>[] {
    let weight = 0;
    let count = 0;
    for (const waiting of this.#queue) {
      if (count > 0 && weight + waiting.weight > this.#options.most) break;
      weight += waiting.weight;
      count += 1;
    }
    this.#weight -= weight;
    return this.#queue.splice(0, count);
  }

  async #writeOnce(batch: Waiting<Item, Done>[]): Promise<void> {
    try {
      const done = await this.#options.write(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(done[index] as Done);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
