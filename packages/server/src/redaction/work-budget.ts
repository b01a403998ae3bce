/** One step looks at one character. Measured on one core: the worst text of 64 KiB takes 10 to 30 ms. */
const MAX_STEPS = 6_000_000;

/** How much work one text may still cost. */
export class WorkBudget {
  #left = MAX_STEPS;

  spend(steps: number): void {
    this.#left -= steps;
  }

  get isExhausted(): boolean {
    return this.#left < 0;
  }
}
