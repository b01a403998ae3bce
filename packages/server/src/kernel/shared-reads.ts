/**
 * Has callers who ask for the same thing at the same time share one read of it: while one is under way, those who come wait
 * together for the next. So a read never misses what its caller did before, and one key has never more than one under way.
 */
export class SharedReads<Result> {
  readonly #reading = new Map<string, { current: Promise<unknown>; next: Promise<Result> | null }>();

  read(key: string, read: () => Promise<Result>): Promise<Result> {
    const reading = this.#reading.get(key);
    if (!reading) return this.#start(key, read);
    reading.next ??= reading.current.then(
      () => this.#start(key, read),
      () => this.#start(key, read),
    );
    return reading.next;
  }

  #start(key: string, read: () => Promise<Result>): Promise<Result> {
    const current = read();
    const reading = { current, next: null };
    this.#reading.set(key, reading);
    const end = () => {
      // Whoever waits for the next read has started it, or will.
      if (this.#reading.get(key) === reading && reading.next === null) this.#reading.delete(key);
    };
    current.then(end, end);
    return current;
  }
}
