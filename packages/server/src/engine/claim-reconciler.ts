/** For how long to look. A statement whose response was lost may still run, but the database ends it earlier than this. Milliseconds. */
const LOOK_FOR_MS = 60_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Decides when to look for unknown claims. The response to a claim can be lost after its commit: then this node holds jobs that it does
 * not know of, and no other node takes them back while this one lives (I2). After such a failure the node looks every second for a minute.
 */
export class ClaimReconciler {
  readonly #onDue: () => void;
  #looksLeft = 0;
  #isDue = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  /** A claim failed, perhaps after its commit. */
  raise(): void {
    if (this.#stopped) return;
    this.#looksLeft = LOOK_FOR_MS / LOOK_EVERY_MS;
    this.#isDue = true;
    this.#timer ??= setInterval(() => this.#tick(), LOOK_EVERY_MS);
  }

  /** Whether to look now: at most once per second. */
  takeDue(): boolean {
    const due = this.#isDue;
    this.#isDue = false;
    return due;
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  #tick(): void {
    this.#isDue = true;
    this.#looksLeft -= 1;
    if (this.#looksLeft === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    this.#onDue();
  }
}
