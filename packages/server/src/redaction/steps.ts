/** A character looked at is a step. Measured at the worst of 64 KiB, on one core: 10 to 30 ms. */
const MOST = 6_000_000;

/** What is left of the work that one text may be. */
export class Steps {
  #left = MOST;

  take(steps: number): void {
    this.#left -= steps;
  }

  get areSpent(): boolean {
    return this.#left < 0;
  }
}
