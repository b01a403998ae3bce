type Later = (callback: () => void) => unknown;

const { setImmediate, process } = globalThis as { readonly setImmediate?: Later; readonly process?: { readonly nextTick?: Later } };
// Tests that replace timers mean the timers of the program.
const afterTurn: Later = setImmediate ?? ((callback) => setTimeout(callback, 0));
const afterPromises: Later = process?.nextTick ?? afterTurn;

/** Resolves after a turn of the event loop: all promises that could settle have settled. */
export const nextTurn = (): Promise<void> =>
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
