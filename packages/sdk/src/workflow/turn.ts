import { isNode } from "../environment.ts";

interface Host {
  readonly process?: { nextTick?(callback: () => void): void };
  readonly setImmediate?: (callback: () => void) => unknown;
}

const { process, setImmediate: immediate = (callback) => setTimeout(callback, 0) } = globalThis as Host;
const nextTick = isNode() ? process?.nextTick : undefined;

/** Turns of all runs after which the event loop goes on: long replays would keep all else waiting. */
const MAX_TICKS = 16;
let ticks = 0;
/** What goes on with the next turn of the event loop. */
let waiting: (() => void)[] = [];

/**
 * Resolves when all that promises could bring about has happened. On Node it seldom takes a turn of the event loop for that, which takes
 * longer than what most programs do between two steps.
 */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    if (!nextTick || ticks === MAX_TICKS) return goOnWithLoop(resolve);
    ticks += 1;
    // Node calls it when no microtask is left, if one has asked for it.
    queueMicrotask(() => nextTick(resolve));
  });

/** Resolves in the next turn of the event loop. */
export const turnOfLoop = (): Promise<void> => new Promise(goOnWithLoop);

function goOnWithLoop(resolve: () => void): void {
  if (waiting.push(resolve) > 1) return;
  immediate(() => {
    const ready = waiting;
    waiting = [];
    ticks = 0;
    for (const goOn of ready) goOn();
  });
}

/** Wakes one waiter when something has changed. */
export class Changes {
  #changed = false;
  #wake: (() => void) | null = null;

  /** Whether something has changed that the caller has not seen. */
  get isNew(): boolean {
    return this.#changed;
  }

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
