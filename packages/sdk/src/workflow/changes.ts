/** Wakes one waiter when something has changed. */
export class Changes {
  #changed = false;
  #wake: (() => void) | null = null;

  notify(): void {
    this.#changed = true;
    this.#wake?.();
  }

  /** Drops the changes so far: the caller has seen them. */
  seen(): void {
    this.#changed = false;
  }

  async next(): Promise<void> {
    if (this.#changed) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = null;
  }
}
