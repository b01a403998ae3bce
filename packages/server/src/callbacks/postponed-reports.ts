import { type Clock, type EmitEvent, PeriodicReport } from "#kernel";

/** Reports now and then that attempts were postponed: callbacks, calls, webhooks, and executions that are sent. */
export class PostponedReports {
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #emit: EmitEvent;
  readonly #postponed = new PeriodicReport();

  constructor(clock: Pick<Clock, "elapsedMs">, emit: EmitEvent) {
    this.#clock = clock;
    this.#emit = emit;
  }

  report(error: unknown): void {
    this.#postponed.count(this.#clock.elapsedMs(), () => this.#emit("callbacks_postponed", { error }));
  }
}
