import { LIMITS } from "@tidemill/contract/limits";

/** How much a batch or an item has of each unit that a batch is limited by. */
type Size<Unit extends string> = Readonly<Record<Unit, number>>;

/** An item of a batch, with the functions that settle its promise. */
export interface Batched<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export interface BatcherOptions<Item, Result, Unit extends string> {
  /** The largest batch. An item that is larger is sent alone. */
  readonly limits: () => Size<Unit>;
  readonly sizeOf: (item: Item) => Size<Unit>;
  /** Whether an item may be in the batch of `first`. Otherwise it waits for another batch. Default: any item may. */
  readonly goesWith?: (first: Item, item: Item) => boolean;
  /** Sends a batch, and settles all of its items. Those that it has not settled when it resolves let other batches leave. Must not reject. */
  readonly send: (batch: readonly Batched<Item, Result>[]) => Promise<void>;
  /** Called when no item waits and no batch is in flight. */
  readonly onIdle?: () => void;
}

/** The largest number of characters in a batch: a character takes at most 3 bytes. */
export const MAX_CHARACTERS = LIMITS.batchBodyBytes / 4;
const MAX_IN_FLIGHT = 2;

/**
 * Sends items in batches. Items of the same turn of the event loop are sent together, when its promises have continued: an item that comes
 * alone is not delayed. While the allowed number of batches is in flight, items wait for the first of them to end, and are then sent
 * together.
 */
export class Batcher<Item, Result, Unit extends string> {
  readonly #options: BatcherOptions<Item, Result, Unit>;
  #waiting: Batched<Item, Result>[] = [];
  #inFlight = 0;
  #flushes = false;

  constructor(options: BatcherOptions<Item, Result, Unit>) {
    this.#options = options;
  }

  /**
   * @param signal rejects the promise with its reason. If the item still waits, it is not sent
   * @returns what `send` settles the item with
   */
  add(item: Item, signal?: AbortSignal): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const withdraw = (): void => {
        this.#waiting = this.#waiting.filter((one) => one !== batched);
        reject(signal?.reason);
      };
      // A signal may be that of thousands of items, one after the other.
      const settled = (): void => signal?.removeEventListener("abort", withdraw);
      const batched: Batched<Item, Result> = {
        item,
        resolve: (result) => {
          settled();
          resolve(result);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      signal?.addEventListener("abort", withdraw, { once: true });
      this.#waiting.push(batched);
      this.#flushSoon();
    });
  }

  #flushSoon(): void {
    if (this.#flushes || this.#inFlight >= MAX_IN_FLIGHT) return;
    this.#flushes = true;
    queueMicrotask(() => {
      this.#flushes = false;
      while (this.#waiting.length > 0 && this.#inFlight < MAX_IN_FLIGHT) void this.#send(this.#takeBatch());
      if (this.#inFlight === 0) this.#options.onIdle?.();
    });
  }

  /** Takes the oldest item, and those that go with it until one of them does not fit. */
  #takeBatch(): readonly Batched<Item, Result>[] {
    const { limits, sizeOf, goesWith } = this.#options;
    const room = new Room(limits());
    const batch: Batched<Item, Result>[] = [];
    for (const one of this.#waiting) {
      const [first] = batch;
      if (first && goesWith?.(first.item, one.item) === false) continue;
      const fits = room.take(sizeOf(one.item));
      if (first && !fits) break;
      batch.push(one);
    }
    const taken = new Set(batch);
    this.#waiting = this.#waiting.filter((one) => !taken.has(one));
    return batch;
  }

  async #send(batch: readonly Batched<Item, Result>[]): Promise<void> {
    this.#inFlight += 1;
    await this.#options.send(batch);
    this.#inFlight -= 1;
    if (this.#waiting.length > 0) this.#flushSoon();
    else if (this.#inFlight === 0) this.#options.onIdle?.();
  }
}

/** What is left of the limits of a batch. */
class Room<Unit extends string> {
  readonly #left: Record<Unit, number>;

  constructor(limits: Size<Unit>) {
    this.#left = { ...limits };
  }

  /** Returns whether there was enough of each unit. */
  take(size: Size<Unit>): boolean {
    const units = Object.keys(size) as Unit[];
    for (const unit of units) this.#left[unit] -= size[unit];
    return units.every((unit) => this.#left[unit] >= 0);
  }
}
