import { isNode } from "../environment.ts";

interface Host {
  readonly process?: { nextTick?(callback: () => void): void };
  readonly setImmediate?: (callback: () => void) => unknown;
}

const { process, setImmediate: immediate } = globalThis as Host;
const nextTick = isNode() ? process?.nextTick : undefined;

/** Turns after which the event loop goes on: a long replay would keep all that other runs wait for. */
const MAX_TICKS = 16;
let ticks = 0;

/**
 * Resolves when all that promises could bring about has happened. On Node it seldom takes a turn of the event loop for that, which takes
 * longer than what most programs do between two steps.
 */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    if (!nextTick || ticks === MAX_TICKS) return turnOfLoop(resolve);
    ticks += 1;
    // Node calls it when no microtask is left, if one has asked for it.
    queueMicrotask(() => nextTick(resolve));
  });

function turnOfLoop(resolve: () => void): void {
  const end = () => {
    ticks = 0;
    resolve();
  };
  if (immediate) immediate(end);
  else setTimeout(end, 0);
}

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
