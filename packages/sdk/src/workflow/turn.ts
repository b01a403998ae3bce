const { setImmediate: soon } = globalThis as { readonly setImmediate?: (callback: () => void) => unknown };

/** Resolves after a turn of the event loop: all that promises could bring about has happened. */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    if (soon) soon(resolve);
    else setTimeout(resolve, 0);
  });

/** Wakes one waiter when something has changed. */
export class Changes {
  #changed = false;
  #wake: (() => void) | null = null;

  notify(): void {
    this.#changed = true;
    this.#wake?.();
  }

  /** Forgets what has changed so far: the caller has seen it. */
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
