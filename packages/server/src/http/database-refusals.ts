import type { EmitEvent } from "#kernel";

/** When the database fails, that concerns many requests at once. It is reported this often. Milliseconds. */
const REPORT_EVERY_MS = 10_000;

/** Reports now and then that requests got 503 because of the database. */
export class DatabaseRefusals {
  readonly #emit: EmitEvent;
  #count = 0;
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(emit: EmitEvent) {
    this.#emit = emit;
  }

  /** @param nowMs by a clock that only moves forward */
  report(error: unknown, nowMs: number): void {
    this.#count += 1;
    if (nowMs - this.#reportedMs < REPORT_EVERY_MS) return;
    this.#emit("requests_refused_by_database", { count: this.#count, error });
    this.#count = 0;
    this.#reportedMs = nowMs;
  }
}
