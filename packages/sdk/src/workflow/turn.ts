type Later = (callback: () => void) => unknown;

const { setImmediate, process } = globalThis as { readonly setImmediate?: Later; readonly process?: { readonly nextTick?: Later } };
// Tests that replace timers mean those of the program.
const afterTurn: Later = setImmediate ?? ((callback) => setTimeout(callback, 0));
const afterPromises: Later = process?.nextTick ?? afterTurn;

/** Resolves after a turn of the event loop: all that promises could bring about has happened. */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    afterTurn(resolve);
  });

/**
 * Resolves when no promise is left to go on. On Node this is no turn of the event loop, and so takes less time. Elsewhere it may come earlier,
 * or be a turn.
 */
export const promisesDone = (): Promise<void> =>
  new Promise((resolve) => {
    afterPromises(resolve);
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
