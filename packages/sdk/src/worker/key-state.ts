/** How long the service may refuse a key before a worker ends. Milliseconds. */
const REFUSED_FOR_LONG_MS = 60_000;

/** Whether the service refuses a key. All calls with the key share it, so that a refused key is logged once. */
export class KeyState {
  /** What happens as long as the key is refused, in words. */
  readonly whileRefused: string;
  #refusedSinceMs: number | null = null;

  constructor(whileRefused: string) {
    this.whileRefused = whileRefused;
  }

  /** Records a response or an error that does not refuse the key. */
  notRefused(): void {
    this.#refusedSinceMs = null;
  }

  /**
   * Records that the key was refused.
   *
   * @param nowMs by `elapsedMs`
   * @returns whether the response before did not refuse it
   */
  refused(nowMs: number): boolean {
    const isNew = this.#refusedSinceMs === null;
    this.#refusedSinceMs ??= nowMs;
    return isNew;
  }

  /**
   * Whether the key has been refused for a minute. A key that was revoked or has expired does not become valid again. Something other than
   * the service may have refused it for a while.
   */
  isRefusedForLong(nowMs: number): boolean {
    return this.#refusedSinceMs !== null && nowMs - this.#refusedSinceMs >= REFUSED_FOR_LONG_MS;
  }
}
