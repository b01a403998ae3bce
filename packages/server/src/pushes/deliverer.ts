import { PostponedReports } from "#callbacks";
import type { Attempt, AttemptMemory, Deliverer } from "#engine";
import type { Claim } from "#jobs";
import { Push, type PushOptions } from "./push.ts";

/** Executes runs or hooks at the endpoints of their workflows: one signed POST per attempt. Source: docs/run-protocol.md. */
export class PushDeliverer implements Deliverer {
  readonly #options: PushOptions;
  readonly #running = new Set<Push>();
  readonly #reports: PostponedReports;

  constructor(options: PushOptions) {
    this.#options = options;
    this.#reports = new PostponedReports(options.clock, options.emit);
  }

  start(claim: Claim, memory: AttemptMemory): Attempt {
    const push = new Push(claim, memory, this.#options, (error) => this.#reports.report(error));
    this.#running.add(push);
    const ended = () => this.#running.delete(push);
    push.result.then(ended, ended);
    push.begin();
    return push;
  }

  enforceDeadlines(stalledMs: number): void {
    const nowMs = this.#options.clock.elapsedMs();
    for (const push of this.#running) push.endIfOverdue(nowMs, stalledMs);
  }
}
