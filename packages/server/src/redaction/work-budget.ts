import type { SlicedWork } from "#kernel";

/** One step looks at one character. Measured on one core: the worst text of 64 KiB takes 10 to 30 ms. */
const MAX_STEPS = 6_000_000;
/** Steps between two pauses. They take about a millisecond. */
const SLICE_STEPS = 250_000;

/** How much work one text may still cost, and when to pause. */
export class WorkBudget {
  #left = MAX_STEPS;
  #pauseAt = MAX_STEPS - SLICE_STEPS;

  spend(steps: number): void {
    this.#left -= steps;
  }

  get isExhausted(): boolean {
    return this.#left < 0;
  }

  /** Yields when a slice of the work is done. */
  *pause(): SlicedWork<void> {
    if (this.#left > this.#pauseAt) return;
    this.#pauseAt = this.#left - SLICE_STEPS;
    yield;
  }
}
