/**
 * Shares reads of the same key among concurrent callers. Callers that come during a read wait together for the next one. So a result
 * is never older than the call, and a key never has more than one read in progress.
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
      // If callers wait for the next read, that read replaces this entry.
      if (this.#reading.get(key) === reading && reading.next === null) this.#reading.delete(key);
    };
    current.then(end, end);
    return current;
  }
}
