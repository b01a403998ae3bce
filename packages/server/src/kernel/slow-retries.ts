import type { LockWaits } from "./lock-waits.ts";

export interface SlowRetriesOptions<One> {
  /** Names what retries, among all that wait for locks. */
  readonly name: string;
  readonly lockWaits: LockWaits;
  /** Returns whether it took too long again. Never rejects. */
  readonly retry: (one: One) => Promise<boolean>;
}

/**
 * Retries what took too long last, beside everything else: one after the other, in the turns of what waits for locks. What no longer takes
 * too long is forgotten.
 */
export class SlowRetries<Key, One> {
  readonly #options: SlowRetriesOptions<One>;
  /** The longest waiting first. */
  readonly #slow = new Map<Key, One>();
  #retrying: Promise<boolean> | null = null;
  #isRunning = false;
  #isStopped = false;

  constructor(options: SlowRetriesOptions<One>) {
    this.#options = options;
  }

  get size(): number {
    return this.#slow.size;
  }

  has(key: Key): boolean {
    return this.#slow.has(key);
  }

  /** It took too long: it comes after the others. */
  add(key: Key, one: One): void {
    this.#slow.delete(key);
    this.#slow.set(key, one);
  }

  /** Changes what is retried, if it took too long last. */
  replace(key: Key, one: One): void {
    if (this.#slow.has(key)) this.#slow.set(key, one);
  }

  /** Forgets all others. */
  keepOnly(keys: ReadonlySet<Key>): void {
    for (const key of this.#slow.keys()) if (!keys.has(key)) this.#slow.delete(key);
  }

  /** Retries until nothing is slow, unless it is doing so already. */
  async run(): Promise<void> {
    const { name, lockWaits } = this.#options;
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#slow.size > 0 && !this.#isStopped) await lockWaits.run(name, () => this.#retryFirst());
    this.#isRunning = false;
  }

  /** Begins no more retries, and waits for one that is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#retrying;
  }

  async #retryFirst(): Promise<void> {
    const [first] = this.#slow;
    if (!first || this.#isStopped) return;
    const [key, one] = first;
    this.#retrying = this.#options.retry(one);
    const isSlow = await this.#retrying;
    const latest = this.#slow.get(key);
    this.#slow.delete(key);
    if (isSlow && latest !== undefined) this.#slow.set(key, latest);
  }
}
