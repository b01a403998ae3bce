/** A clock that stands still but for what is waited for. */
export class VirtualClock {
  #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  readonly nowMs = (): number => this.#ms;

  /** Passes time at once. */
  readonly wait = async (ms: number): Promise<void> => {
    this.#ms += ms;
  };

  passUntil(ms: number): void {
    this.#ms = Math.max(this.#ms, ms);
  }
}
