/** How long a first value waits for steps that it can be sent with, or for a newer one. Milliseconds. */
const FIRST_MS = 100;
/** The shortest time between two calls that send only progress. Milliseconds. */
const EVERY_MS = 1_000;

/** The progress that a call takes along. */
export interface ProgressToSend {
  readonly progress?: unknown;
}

/** Sends the newest progress of a run: with its steps, or by calls of its own, about one a second. */
export class ProgressSender {
  readonly #send: (progress: unknown) => Promise<unknown>;
  /** The newest value, if it is not sent. */
  #unsent: ProgressToSend = {};
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waitMs = FIRST_MS;
  #hasEnded = false;

  /** @param send its errors are ignored */
  constructor(send: (progress: unknown) => Promise<unknown>) {
    this.#send = send;
  }

  set(progress: unknown): void {
    if (this.#hasEnded) return;
    this.#unsent = { progress };
    this.#plan();
  }

  /** The newest value, for a call that is about to be made. */
  take(): ProgressToSend {
    const taken = this.#unsent;
    this.#unsent = {};
    return taken;
  }

  /** Sends nothing more by itself. */
  end(): ProgressToSend {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    return this.take();
  }

  #plan(): void {
    if (this.#timer !== undefined || !("progress" in this.#unsent)) return;
    this.#timer = setTimeout(() => void this.#sendNow(), this.#waitMs);
  }

  async #sendNow(): Promise<void> {
    const taken = this.take();
    // The next one waits from the end of this call.
    if ("progress" in taken) await this.#send(taken.progress).catch(() => {});
    this.#timer = undefined;
    this.#waitMs = EVERY_MS;
    if (!this.#hasEnded) this.#plan();
  }
}
