import { PostponedReports } from "#callbacks";
import type { Attempt, AttemptResult, Deliverer } from "#engine";
import type { Claim } from "#jobs";
import { Send, type SendOptions } from "./send.ts";

/** Sends events to webhooks: one signed POST per attempt. Source: contract §14. */
export class WebhookDeliverer implements Deliverer {
  readonly #options: SendOptions;
  readonly #reports: PostponedReports;
  readonly #running = new Set<Send>();

  constructor(options: SendOptions) {
    this.#options = options;
    this.#reports = new PostponedReports(options.clock, options.emit);
  }

  start(claim: Claim): Attempt {
    const send = new Send(claim, this.#options, (error) => this.#reports.report(error));
    this.#running.add(send);
    const result: Promise<AttemptResult> = send.make().finally(() => this.#running.delete(send));
    return { result, abort: () => send.abort() };
  }

  enforceDeadlines(stalledMs: number): void {
    const nowMs = this.#options.clock.elapsedMs();
    for (const send of this.#running) send.endIfOverdue(nowMs, stalledMs);
  }
}
