import { wait } from "../wait.ts";
import { attemptStep, type StepCall, type StepOutcome } from "./attempt-step.ts";
import type { RunHost } from "./host.ts";

interface Executing {
  readonly controller: AbortController;
  readonly done: Promise<void>;
  /** Ends the watch for a step that goes on after its signal is aborted. */
  watch?: AbortController;
}

/** The steps of an execution whose functions run. */
export class ExecutingSteps {
  readonly #host: RunHost;
  readonly #onEnd: (key: string, outcome: StepOutcome | null) => void;
  readonly #steps = new Map<string, Executing>();
  /** Cancelled steps whose functions still run. */
  readonly #leaving = new Map<string, Executing>();

  /** @param onEnd called when a step has ended that was not cancelled. Null: it was aborted, and has no outcome */
  constructor(host: RunHost, onEnd: (key: string, outcome: StepOutcome | null) => void) {
    this.#host = host;
    this.#onEnd = onEnd;
  }

  /** How many there are, without those that were cancelled. */
  get size(): number {
    return this.#steps.size;
  }

  start(call: StepCall): void {
    const controller = new AbortController();
    const done = this.#attempt(call, controller.signal);
    this.#steps.set(call.key, { controller, done });
  }

  async #attempt(call: StepCall, signal: AbortSignal): Promise<void> {
    // The function begins after the step is in the list, so that it can be aborted from the start.
    await Promise.resolve();
    const outcome = await attemptStep(this.#host, call, signal);
    this.#leaving.delete(call.key);
    if (this.#steps.delete(call.key)) this.#onEnd(call.key, outcome);
  }

  /** Aborts a step, whose outcome no longer counts. */
  cancel(key: string, reason: Error): void {
    const step = this.#steps.get(key);
    if (!step) return;
    this.#steps.delete(key);
    this.#leaving.set(key, step);
    step.controller.abort(reason);
  }

  /** Aborts a step, which stays in the list until it ends. An outcome that it has all the same counts. */
  abort(key: string, reason: unknown): void {
    const step = this.#steps.get(key);
    if (!step || step.controller.signal.aborted) return;
    step.controller.abort(reason);
    this.#watch(key, step);
  }

  /** Cancels all steps of an execution that ends without them: no step is reported any more. */
  cancelAll(reason: (key: string) => Error): void {
    for (const key of this.#steps.keys()) this.cancel(key, reason(key));
    for (const { watch } of this.#leaving.values()) watch?.abort();
  }

  /** Aborts all steps. If one of them still has an outcome, it counts. */
  abortAll(reason: unknown): void {
    for (const key of this.#steps.keys()) this.abort(key, reason);
  }

  /** Resolves when all have ended, and also those that were cancelled: their functions may still do something. */
  async ended(): Promise<void> {
    for (const [key, step] of this.#leaving) this.#watch(key, step);
    await Promise.all([...this.#steps.values(), ...this.#leaving.values()].map(({ done }) => done));
  }

  /** Reports a step that goes on for too long after its signal is aborted. */
  #watch(key: string, step: Executing): void {
    if (step.watch) return;
    const watch = new AbortController();
    step.watch = watch;
    void step.done.then(() => watch.abort());
    wait(this.#host.stopsWithinMs, watch.signal).then(
      () => this.#host.onUnstopped(key),
      () => {},
    );
  }
}
