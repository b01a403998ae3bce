/** How often the tab that holds a lock says so, without Web Locks. Milliseconds. */
const BEAT_MS = 1_000;
/** A holder that was not heard from for this long is gone. Milliseconds. */
const GONE_MS = 5 * BEAT_MS;
/** After this time, two tabs that wrote at the same time see the same text. Milliseconds. */
const SETTLE_MS = 100;

/** Holds a lock of the browser's tabs until `signal` is aborted. `whileHeld` is called with a signal that says when it is lost. */
export function holdTabLock(name: string, signal: AbortSignal, whileHeld: (lost: AbortSignal) => void): void {
  if (!navigator.locks) {
    new Lease(name, signal, whileHeld);
    return;
  }
  navigator.locks
    .request(name, { signal }, () => {
      if (signal.aborted) return;
      whileHeld(signal);
      return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    })
    // The tab gave up while it waited.
    .catch(() => {});
}

/**
 * The lock on plain HTTP, where browsers have no Web Locks: a lease in the storage that tabs share. Its holder writes another text each
 * second; where none was written for five seconds, another tab takes it. No clock is compared between tabs.
 */
class Lease {
  readonly #key: string;
  readonly #whileHeld: (lost: AbortSignal) => void;
  readonly #id = crypto.getRandomValues(new Uint32Array(2)).join("-");
  readonly #signal: AbortSignal;
  readonly #timer: ReturnType<typeof setInterval>;
  #beats = 0;
  #seen: string | null = null;
  #seenAt = performance.now();
  #held: AbortController | null = null;

  constructor(name: string, signal: AbortSignal, whileHeld: (lost: AbortSignal) => void) {
    this.#key = name;
    this.#signal = signal;
    this.#whileHeld = whileHeld;
    this.#timer = setInterval(() => this.#beat(), BEAT_MS);
    const release = () => this.#release();
    addEventListener("pagehide", release);
    addEventListener("storage", this.#changed);
    signal.addEventListener("abort", () => {
      clearInterval(this.#timer);
      removeEventListener("pagehide", release);
      removeEventListener("storage", this.#changed);
      release();
    });
    this.#beat();
  }

  /** A holder that leaves says so, so that the next one need not wait. */
  readonly #changed = ({ key, newValue }: StorageEvent) => {
    if (key === this.#key && newValue === null) this.#beat();
  };

  #beat(): void {
    const now = localStorage.getItem(this.#key);
    if (now !== this.#seen) {
      this.#seen = now;
      this.#seenAt = performance.now();
    }
    const isOurs = now?.startsWith(`${this.#id} `) ?? false;
    // Two tabs may have written at the same time, or this one was suspended: the text that is there now decides.
    if (this.#held && !isOurs) this.#lose();
    if (isOurs && !this.#held) this.#hold();
    if (this.#held) this.#write();
    else if (now === null || performance.now() - this.#seenAt > GONE_MS) {
      this.#write();
      setTimeout(() => !this.#signal.aborted && this.#beat(), SETTLE_MS);
    }
  }

  #write(): void {
    this.#beats += 1;
    this.#seen = `${this.#id} ${this.#beats}`;
    this.#seenAt = performance.now();
    localStorage.setItem(this.#key, this.#seen);
  }

  #hold(): void {
    this.#held = new AbortController();
    this.#whileHeld(this.#held.signal);
  }

  #lose(): void {
    this.#held?.abort();
    this.#held = null;
  }

  #release(): void {
    if (localStorage.getItem(this.#key)?.startsWith(`${this.#id} `)) localStorage.removeItem(this.#key);
    this.#lose();
  }
}
