/** A signal that fires after a time, or with another signal. Its timer must be stopped by `end`. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #outer: AbortSignal | undefined;
  readonly #abort = (): void => this.#controller.abort(this.#outer?.reason);
  #passed = false;

  /** @param reason makes the reason of the signal when the time has passed */
  constructor(ms: number, outer: AbortSignal | undefined, reason?: () => Error) {
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.#passed = true;
      this.#controller.abort(reason?.());
    }, ms);
    if (outer?.aborted) this.#abort();
    else outer?.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time has passed. */
  get passed(): boolean {
    return this.#passed;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#abort);
  }
}
