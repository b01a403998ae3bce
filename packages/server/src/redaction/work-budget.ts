import type { SlicedWork } from "#kernel";

/** One step checks one character. Measured on one core: the worst text of 64 KiB takes 10 to 30 ms. */
const MAX_STEPS = 6_000_000;
/** Steps between two pauses. They take about a millisecond. */
const SLICE_STEPS = 250_000;

/** How much work one text may still cost, and when to pause. */
export class WorkBudget {
  #left: number;
  #untilPause = SLICE_STEPS;

  /** @param times how many times 64 KiB the text may have */
  constructor(times = 1) {
    this.#left = times * MAX_STEPS;
  }

  spend(steps: number): void {
    this.#left -= steps;
    this.#untilPause -= steps;
  }

  /** Counts work that is limited otherwise: it only brings the next pause nearer. */
  countToPause(steps: number): void {
    this.#untilPause -= steps;
  }

  get isExhausted(): boolean {
    return this.#left < 0;
  }

  /** Yields when a slice of the work is done. */
  *pause(): SlicedWork<void> {
    if (this.#untilPause > 0) return;
    this.#untilPause = SLICE_STEPS;
    yield;
  }
}
