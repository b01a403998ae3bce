import { wait } from "../wait.ts";
import { nextTurn } from "../workflow/event-loop.ts";

interface Timer {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Whether the timer may pass while functions of steps are executed, if it is the first one. */
  readonly isWait: boolean;
  readonly pass: () => void;
}

/** How many turns of the event loop a run gets to continue after a step has ended. */
const QUIET_TURNS = 10;
/** How long nothing may happen while steps do not end. Milliseconds of real time. */
const STUCK_MS = 3_000;

/**
 * A clock that moves only to the end of waits. Timers pass in order, each after everything that the previous one caused has happened. While
 * the function of a step is executed, no sleep ends and no timeout passes, so its real duration does not decide a race. The wait for
 * another attempt does end meanwhile, unless a sleep or timeout comes before it.
 */
export class VirtualClock {
  #ms: number;
  readonly #timers = new Set<Timer>();
  /** Functions of steps that are executed. */
  #busy = 0;
  /** Keys of the steps that do not end. */
  readonly #endless = new Set<string>();
  #isMoving = false;
  /** Counts what has happened. */
  #events = 0;
  #patience: AbortController | null = null;
  /** Called with the keys of steps that do not end, when nothing else is left that could end. */
  onStuck: (keys: readonly string[]) => void = () => {};

  constructor(ms: number) {
    this.#ms = ms;
  }

  readonly nowMs = (): number => this.#ms;

  /** Its time is whole milliseconds, as that of a real one. */
  passUntil(ms: number): void {
    this.#ms = Math.max(this.#ms, Math.ceil(ms));
  }

  /**
   * Waits, even while functions of steps are executed, if no sleep or timeout comes before. Rejects with the signal's reason when it
   * aborts.
   */
  readonly wait = (ms: number, signal?: AbortSignal): Promise<void> => this.#add(ms, true, signal);

  /** Ends when everything that is in progress waits, too, or does not end. Rejects with the signal's reason when it aborts. */
  readonly timer = (ms: number, signal: AbortSignal): Promise<void> => this.#add(ms, false, signal);

  /** Executes the function of a step, until it has ended or its signal aborts. */
  async execute<Result>(signal: AbortSignal, fn: () => Result | Promise<Result>): Promise<Result> {
    let hasEnded = false;
    const end = () => {
      if (!hasEnded) this.#changed(() => (this.#busy -= 1));
      hasEnded = true;
    };
    this.#changed(() => (this.#busy += 1));
    signal.addEventListener("abort", end, { once: true });
    try {
      return await fn();
    } finally {
      signal.removeEventListener("abort", end);
      end();
    }
  }

  /** Represents a step that does not end before its signal aborts. Then it rejects with the reason. */
  async neverEnd(key: string, signal: AbortSignal): Promise<never> {
    this.#changed(() => this.#endless.add(key));
    try {
      return await new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    } finally {
      this.#changed(() => this.#endless.delete(key));
    }
  }

  #add(ms: number, isWait: boolean, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const drop = () => {
        this.#timers.delete(timer);
        reject(signal?.reason);
      };
      const pass = () => {
        signal?.removeEventListener("abort", drop);
        resolve();
      };
      const timer = { atMs: this.#ms + ms, isWait, pass };
      signal?.addEventListener("abort", drop, { once: true });
      this.#changed(() => this.#timers.add(timer));
    });
  }

  #changed(change: () => void): void {
    change();
    this.#events += 1;
    this.#patience?.abort();
    void this.#move();
  }

  async #move(): Promise<void> {
    if (this.#isMoving) return;
    this.#isMoving = true;
    for (;;) {
      await this.#quiet();
      const timer = this.#next;
      if (!timer) break;
      this.#timers.delete(timer);
      this.passUntil(timer.atMs);
      timer.pass();
    }
    this.#isMoving = false;
    if (this.#endless.size > 0 && this.#busy === 0) this.#expectChange();
  }

  /** Resolves when nothing has happened for some turns. */
  async #quiet(): Promise<void> {
    for (let [left, seen] = [QUIET_TURNS, this.#events]; left > 0; left -= 1) {
      await nextTurn();
      if (seen !== this.#events) [left, seen] = [QUIET_TURNS, this.#events];
    }
  }

  /** The first timer, if it may pass now. */
  get #next(): Timer | undefined {
    const timers = [...this.#timers].sort((a, b) => a.atMs - b.atMs);
    const allWait = this.#busy === 0 && (this.#endless.size > 0 || timers.some(({ isWait }) => isWait));
    const [first] = timers;
    return first?.isWait || allWait ? first : undefined;
  }

  #expectChange(): void {
    this.#patience = new AbortController();
    wait(STUCK_MS, this.#patience.signal).then(
      () => this.onStuck([...this.#endless]),
      () => {},
    );
  }
}
