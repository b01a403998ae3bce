import type { ReportedStep, RunStep } from "@tidemill/contract";
import { momentText } from "../clock.ts";
import { RunAbortedError } from "../workflow/errors.ts";
import { executeRun } from "../workflow/execute.ts";
import type { RunHost } from "../workflow/host.ts";
import type { RunOutcome } from "../workflow/run-outcome.ts";
import type { AnyWorkflow } from "../workflow/workflow.ts";
import { MemoryJournal } from "./memory-journal.ts";
import { repeatableRandom, repeatableUuid } from "./repeatable.ts";
import type { Substitutes } from "./substitutes.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** How long a workflow may be busy elsewhere before it comes to a step of the journal. Milliseconds. */
const MISFIT_AFTER_MS = 1_000;

/** A run in memory. */
export class MemoryRun {
  readonly #workflow: AnyWorkflow;
  readonly #input: unknown;
  readonly #clock: VirtualClock;
  readonly #substitutes: Substitutes;
  readonly #crashes: boolean;
  readonly #journal: MemoryJournal;
  attempt = 1;

  /** @param crashes whether each execution ends when it has stored a step */
  constructor(workflow: AnyWorkflow, input: unknown, clock: VirtualClock, substitutes: Substitutes, crashes: boolean) {
    this.#workflow = workflow;
    this.#input = input;
    this.#clock = clock;
    this.#substitutes = substitutes;
    this.#crashes = crashes;
    this.#journal = new MemoryJournal(clock);
  }

  get steps(): readonly RunStep[] {
    return this.#journal.steps;
  }

  /** One execution, from the top. */
  async execute(replace: RunHost["replace"] = this.#substitutes.replace): Promise<RunOutcome> {
    const crash = new AbortController();
    const store = async (steps: readonly ReportedStep[]): Promise<void> => {
      this.#journal.append(steps);
      if (this.#crashes) crash.abort(new RunAbortedError("shutdown"));
    };
    const { nowMs, wait } = this.#clock;
    const host = { nowMs, wait, random: repeatableRandom, uuid: repeatableUuid, misfitAfterMs: MISFIT_AFTER_MS };
    const outcome = await executeRun(this.#workflow, this.#taken(), { ...host, store, signal: crash.signal, replace });
    if ("steps" in outcome) this.#journal.append(outcome.steps ?? []);
    return outcome;
  }

  /** Ends the sleep that ends first. */
  wake(): void {
    if (this.#journal.wakeNext()) return;
    const keys = this.steps.filter(({ status }) => status === "waiting").map(({ key }) => `"${key}"`);
    throw new Error(`The run waits for step ${keys.join(", ")}, which nobody answers.`);
  }

  /** Where executions crash: each step has had its effect once, and a replay of the whole journal returns the same and executes nothing. */
  async checkReplay(result: unknown): Promise<void> {
    if (!this.#crashes) return;
    const twice = [...this.#substitutes.effects].find(([, times]) => times > 1 && this.attempt === 1);
    if (twice) throw new Error(`Step "${twice[0]}" was executed ${twice[1]} times.`);
    const replayed = await this.execute(({ key }) => () => {
      throw new Error(`Step "${key}" is not in the journal.`);
    });
    const [expected, got] = [
      { outcome: "completed", result },
      { ...replayed, steps: undefined },
    ].map((one) => JSON.stringify(one));
    if (got !== expected) throw new Error(`The run ended as ${expected}, but a replay of its journal as ${got}.`);
  }

  #taken(): Parameters<typeof executeRun>[1] {
    const { id, options } = this.#workflow;
    const now = momentText(this.#clock.nowMs());
    const { version = null, attempts = 3 } = options;
    return {
      runId: "run_test",
      workflowId: id,
      version,
      attempt: this.attempt,
      attempts,
      input: this.#input,
      trigger: { type: "api" },
      createdAt: now,
      journal: [...this.steps],
      lease_token: "test",
      lease_expires_at: now,
    };
  }
}
