/** The end of something: after a time, or with another signal. Its timer must be stopped by `end`. */
export class Deadline {
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #outer: AbortSignal | undefined;
  readonly #abort = (): void => this.#come(this.#outer?.reason);
  #controller: AbortController | undefined;
  #onCome: () => void = () => {};
  #reason: unknown;
  #hasCome = false;
  #passed = false;

  /** @param reason makes the reason of the signal when the time has passed */
  constructor(ms: number, outer: AbortSignal | undefined, reason?: () => Error) {
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.#passed = true;
      this.#come(reason?.());
    }, ms);
    if (outer?.aborted) this.#abort();
    else outer?.addEventListener("abort", this.#abort, { once: true });
  }

  /** Aborted when it has come. Made when it is asked for, because requests by `node:http` do better without one. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#hasCome) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Calls this when it comes, in place of what was to be called before. */
  onCome(listener: () => void): void {
    if (this.#hasCome) listener();
    else this.#onCome = listener;
  }

  /** Whether the time has passed. */
  get passed(): boolean {
    return this.#passed;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#abort);
  }

  #come(reason: unknown): void {
    if (this.#hasCome) return;
    this.#hasCome = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#onCome();
  }
}
