type Later = (callback: () => void) => unknown;

const { setImmediate, process } = globalThis as { readonly setImmediate?: Later; readonly process?: { readonly nextTick?: Later } };
// Tests that replace timers mean the timers of the program.
const afterTurn: Later = setImmediate ?? ((callback) => setTimeout(callback, 0));
const afterPromises: Later = process?.nextTick ?? afterTurn;

/** Resolves after a turn of the event loop: all promises that could settle have settled. */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    afterTurn(resolve);
  });

/**
 * Resolves when no promise is left to continue. On Node this does not take a turn of the event loop, and so takes less time. Elsewhere it
 * may come earlier, or take a turn.
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
