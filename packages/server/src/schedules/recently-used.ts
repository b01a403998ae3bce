/** Keeps what was asked for last, so many at most; what is not there is made. */
export class RecentlyUsed<Value> {
  readonly #most: number;
  /** The one asked for longest ago comes first. */
  readonly #kept = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  of(key: string, make: () => Value): Value {
    const value = this.#kept.get(key) ?? make();
    this.#kept.delete(key);
    this.#kept.set(key, value);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#most && oldest !== undefined) this.#kept.delete(oldest);
    return value;
  }
}
