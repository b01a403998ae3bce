import { type StallTolerantTimeout, setStallTolerantTimeout } from "./stall-tolerant-timeout.ts";

/** A deadline: it ends after a time, or with another signal. `end` must be called to stop its timer. */
export class Deadline {
  readonly #timer: StallTolerantTimeout;
  readonly #outer: AbortSignal | undefined;
  readonly #reasonOf: (() => Error) | undefined;
  readonly #abortWithOuter = (): void => this.#abort(this.#outer?.reason);
  #controller: AbortController | undefined;
  #onAbort: () => void = () => {};
  #onPass: (reason: Error | undefined) => void = () => {};
  #reason: unknown;
  #isAborted = false;
  #passed = false;

  /** @param reason makes the reason of the signal when the time has passed */
  constructor(ms: number, outer: AbortSignal | undefined, reason?: () => Error) {
    this.#outer = outer;
    this.#reasonOf = reason;
    this.#timer = setStallTolerantTimeout(() => this.pass(), ms);
    if (outer?.aborted) this.#abortWithOuter();
    else outer?.addEventListener("abort", this.#abortWithOuter, { once: true });
  }

  /** Aborted at the end. It is created on first use, because requests without `fetch` are faster without one. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isAborted) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Calls this listener at the end, instead of the previous one. */
  onAbort(listener: () => void): void {
    if (this.#isAborted) listener();
    else this.#onAbort = listener;
  }

  /** Calls this when the time has passed, also after the other signal, in place of the listener before. */
  onPass(listener: (reason: Error | undefined) => void): void {
    this.#onPass = listener;
  }

  /** Whether the time has passed. */
  get passed(): boolean {
    return this.#passed;
  }

  /** Ends it as if the time had passed. */
  pass(): void {
    const reason = this.#reasonOf?.();
    this.#passed = true;
    this.#onPass(reason);
    this.#abort(reason);
  }

  end(): void {
    this.#timer.clear();
    this.#outer?.removeEventListener("abort", this.#abortWithOuter);
  }

  #abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#onAbort();
  }
}
