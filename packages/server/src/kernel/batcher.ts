import { setImmediate } from "node:timers/promises";
import type { WorkspaceId } from "./ids.ts";
import { RoundRobinQueue } from "./shares/round-robin-queue.ts";

export interface BatcherOptions<Item, Done> {
  /** The maximum weight in one write. Without `weigh`, each item weighs 1. */
  readonly maxWeight: number;
  /** How many writes may run at the same time. */
  readonly writers: number;
  /**
   * With several writers: whether no workspace may have items in two writes at once. Then a workspace with many items leaves the other
   * writers to others. An item whose result is a promise counts as being written until that is settled.
   */
  readonly oneWriteEach?: boolean;
  readonly weigh?: (item: Item) => number;
  /** Whose item it is. Workspaces take turns: a write takes the first item of each, then the second of each, and so on. */
  readonly workspaceOf: (item: Item) => WorkspaceId;
  /** Writes items together, and returns their results in the same order. Only the item itself waits for a result that is a promise. */
  readonly write: (items: Item[]) => Promise<(Done | Promise<Done>)[]>;
}

interface Waiting<Item, Done> {
  readonly workspaceId: WorkspaceId;
  readonly item: Item;
  readonly weight: number;
  readonly resolve: (done: Done) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes items in batches. Items that arrive while a write is running go into the next one. So a single item does not wait, and many
 * items share one round trip.
 */
export class Batcher<Item, Done> {
  readonly #options: BatcherOptions<Item, Done>;
  readonly #line = new RoundRobinQueue<Waiting<Item, Done>>();
  /** The workspaces with items in a write under way, if each may have one at a time. */
  readonly #inWrites = new Set<WorkspaceId>();
  #writing = 0;
  #idle: (() => void)[] = [];

  constructor(options: BatcherOptions<Item, Done>) {
    this.#options = options;
  }

  /** @param signal takes the item back if its write has not begun; the result then rejects with the signal's reason */
  add(item: Item, signal?: AbortSignal): Promise<Done> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const waiting = this.#wait(item, resolve, reject);
      signal?.addEventListener("abort", () => this.#withdraw(waiting, signal.reason), { once: true });
    });
  }

  /**
   * Adds items of one caller that waits for all of them. This takes one promise, instead of hundreds that would be kept until the database
   * responds.
   */
  addAll(items: readonly Item[]): Promise<Done[]> {
    return new Promise((resolve, reject) => {
      const done: Done[] = new Array(items.length);
      let left = items.length;
      if (left === 0) resolve(done);
      for (const [index, item] of items.entries()) {
        const keep = (one: Done) => {
          done[index] = one;
          left -= 1;
          if (left === 0) resolve(done);
        };
        this.#wait(item, keep, reject);
      }
    });
  }

  #wait(item: Item, resolve: (done: Done) => void, reject: (error: unknown) => void): Waiting<Item, Done> {
    const { weigh, workspaceOf } = this.#options;
    const waiting = { workspaceId: workspaceOf(item), item, weight: weigh?.(item) ?? 1, resolve, reject };
    this.#line.add(waiting);
    this.#beginWrite();
    return waiting;
  }

  #beginWrite(): void {
    if (this.#writing === this.#options.writers) return;
    this.#writing += 1;
    void this.#drain();
  }

  /**
   * Waits until no write is under way and no item can be written. Items may still wait if results of their workspace's last write are
   * unsettled promises.
   */
  async settled(): Promise<void> {
    if (this.#writing === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #drain(): Promise<void> {
    // Items that arrive in the same turn of the event loop join the first write.
    await setImmediate();
    for (let batch = this.#take(); batch.length > 0; batch = this.#take()) await this.#writeOnce(batch);
    this.#writing -= 1;
    if (this.#writing === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #take(): Waiting<Item, Done>[] {
    const { maxWeight } = this.#options;
    const batch: Waiting<Item, Done>[] = [];
    // A workspace whose next item does not fit has no more turns in this write: its items keep their order.
    const full = new Set<WorkspaceId>();
    let weight = 0;
    for (const waiting of this.#line.inTurns((workspaceId) => full.has(workspaceId) || this.#inWrites.has(workspaceId))) {
      if (batch.length > 0 && weight + waiting.weight > maxWeight) full.add(waiting.workspaceId);
      else {
        weight += waiting.weight;
        batch.push(waiting);
      }
      if (weight >= maxWeight) break;
    }
    for (const [index, waiting] of batch.entries()) {
      this.#line.delete(waiting);
      if (batch[index + 1]?.workspaceId !== waiting.workspaceId) this.#line.moveWorkspaceBack(waiting.workspaceId);
    }
    return batch;
  }

  #withdraw(waiting: Waiting<Item, Done>, reason: unknown): void {
    if (!this.#line.has(waiting)) return;
    this.#line.delete(waiting);
    waiting.reject(reason);
  }

  async #writeOnce(batch: Waiting<Item, Done>[]): Promise<void> {
    const unfinished = new Map<WorkspaceId, Promise<Done>[]>();
    if (this.#options.oneWriteEach) for (const { workspaceId } of batch) unfinished.set(workspaceId, []);
    for (const workspaceId of unfinished.keys()) this.#inWrites.add(workspaceId);
    try {
      const done = await this.#options.write(batch.map(({ item }) => item));
      for (const [index, { workspaceId, resolve, reject }] of batch.entries()) {
        const one = done[index] as Done | Promise<Done>;
        if (!(one instanceof Promise)) resolve(one);
        else {
          one.then(resolve, reject);
          unfinished.get(workspaceId)?.push(one);
        }
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      for (const [workspaceId, promises] of unfinished) this.#leaveWrite(workspaceId, promises);
    }
  }

  /** Lets the workspace have items in another write, once these promises are settled. */
  #leaveWrite(workspaceId: WorkspaceId, unfinished: readonly Promise<Done>[]): void {
    if (unfinished.length === 0) this.#inWrites.delete(workspaceId);
    else {
      void Promise.allSettled(unfinished).then(() => {
        this.#inWrites.delete(workspaceId);
        if (this.#line.size > 0) this.#beginWrite();
      });
    }
  }
}
