/** What concerns many at once is reported this often. Milliseconds. */
const REPORT_EVERY_MS = 10_000;

/** Reports what happens often only now and then, with how often it happened. */
export class PeriodicReport {
  #count = 0;
  #reportedMs = Number.NEGATIVE_INFINITY;

  /**
   * Counts that it has happened. Unless the last report was less than 10 seconds ago, it is reported.
   *
   * @param nowMs by a clock that only moves forward
   * @param report gets how often it has happened since the last report, this time included
   */
  count(nowMs: number, report: (count: number) => void): void {
    this.#count += 1;
    if (nowMs - this.#reportedMs < REPORT_EVERY_MS) return;
    report(this.#count);
    this.#count = 0;
    this.#reportedMs = nowMs;
  }
}
