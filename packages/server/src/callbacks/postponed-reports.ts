import type { Clock, EmitEvent } from "#kernel";

/** When the node lacks something, that concerns many attempts at once. It is reported this often. Milliseconds. */
const REPORT_EVERY_MS = 10_000;

/** Reports now and then that attempts were postponed: callbacks, calls, webhooks, and executions that are sent. */
export class PostponedReports {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #emit: EmitEvent;
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "elapsedMs">, emit: EmitEvent) {
    this.#clock = clock;
    this.#emit = emit;
  }

  report(error: unknown): void {
    const nowMs = this.#clock.elapsedMs();
    if (nowMs - this.#reportedMs < REPORT_EVERY_MS) return;
    this.#reportedMs = nowMs;
    this.#emit("callbacks_postponed", { error });
  }
}
