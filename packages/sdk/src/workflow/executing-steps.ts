import { wait } from "../wait.ts";
import { attemptStep, type StepCall, type StepOutcome } from "./attempt-step.ts";
import type { RunHost } from "./host.ts";

interface Executing {
  readonly controller: AbortController;
  /** Ends the watch for a step that goes on after its signal is aborted. */
  readonly watch: AbortController;
  readonly done: Promise<void>;
}

/** The steps of an execution whose functions run. */
export class ExecutingSteps {
  readonly #host: RunHost;
  readonly #onEnd: (key: string, outcome: StepOutcome | null) => void;
  readonly #steps = new Map<string, Executing>();

  /** @param onEnd called when a step has ended that was not cancelled. Null: it was aborted, and has no outcome */
  constructor(host: RunHost, onEnd: (key: string, outcome: StepOutcome | null) => void) {
    this.#host = host;
    this.#onEnd = onEnd;
  }

  get size(): number {
    return this.#steps.size;
  }

  start(call: StepCall): void {
    const controller = new AbortController();
    const done = this.#attempt(call, controller.signal);
    this.#steps.set(call.key, { controller, watch: new AbortController(), done });
  }

  async #attempt(call: StepCall, signal: AbortSignal): Promise<void> {
    // The function begins after the step is in the list, so that it can be aborted from the start.
    await Promise.resolve();
    const outcome = await attemptStep(this.#host, call, signal);
    if (this.#steps.delete(call.key)) this.#onEnd(call.key, outcome);
  }

  /** Aborts a step, whose outcome no longer counts. */
  cancel(key: string, reason: Error): void {
    const step = this.#steps.get(key);
    this.#steps.delete(key);
    step?.watch.abort();
    step?.controller.abort(reason);
  }

  /** Aborts a step, which stays in the list until it ends. An outcome that it has all the same counts. */
  abort(key: string, reason: unknown): void {
    const step = this.#steps.get(key);
    if (!step || step.controller.signal.aborted) return;
    step.controller.abort(reason);
    void step.done.then(() => step.watch.abort());
    wait(this.#host.stopsWithinMs, step.watch.signal).then(
      () => this.#host.onUnstopped(key),
      () => {},
    );
  }

  cancelAll(reason: (key: string) => Error): void {
    for (const key of this.#steps.keys()) this.cancel(key, reason(key));
  }

  /** Aborts all steps. If one of them still has an outcome, it counts. */
  abortAll(reason: unknown): void {
    for (const key of this.#steps.keys()) this.abort(key, reason);
  }

  /** Resolves when all have ended. */
  async ended(): Promise<void> {
    await Promise.all([...this.#steps.values()].map(({ done }) => done));
  }
}
