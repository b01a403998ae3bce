/** Steps between two pauses. They take about a millisecond. */
const SLICE_STEPS = 256 * 1024;

/** Counts the steps of work that runs in slices, and says when it has to pause. One step processes a few characters. */
export class Pauses {
  #left = SLICE_STEPS;

  /** Counts steps that were done. Returns whether to pause now. */
  after(steps: number): boolean {
    this.#left -= steps;
    if (this.#left > 0) return false;
    this.#left = SLICE_STEPS;
    return true;
  }
}
