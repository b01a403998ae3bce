import type { Attempt, AttemptMemory, Deliverer } from "#engine";
import type { Claim } from "#jobs";
import { Push, type PushOptions } from "./push.ts";

/** What the node lacks concerns many executions at once. It is reported this often. Milliseconds. */
const REPORT_EVERY_MS = 10_000;

/** Executes runs or hooks at the endpoints of their workflows: one signed POST per attempt. Source: docs/run-protocol.md. */
export class PushDeliverer implements Deliverer {
  readonly #options: PushOptions;
  readonly #running = new Set<Push>();
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(options: PushOptions) {
    this.#options = options;
  }

  start(claim: Claim, memory: AttemptMemory): Attempt {
    const push = new Push(claim, memory, this.#options, (error) => this.#reportPostponed(error));
    this.#running.add(push);
    const ended = () => this.#running.delete(push);
    push.result.then(ended, ended);
    push.begin();
    return push;
  }

  sweep(): void {
    const nowMs = this.#options.clock.elapsedMs();
    for (const push of this.#running) push.endIfOverdue(nowMs);
  }

  #reportPostponed(error: unknown): void {
    const nowMs = this.#options.clock.elapsedMs();
    if (nowMs - this.#reportedMs < REPORT_EVERY_MS) return;
    this.#reportedMs = nowMs;
    this.#options.emit("callbacks_postponed", { error });
  }
}
