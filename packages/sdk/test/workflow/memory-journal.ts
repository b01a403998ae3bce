import type { ReportedStep, RunStep, TakenRun } from "@tidemill/contract";
import { type WorkflowContext, workflow } from "@tidemill/sdk";
import { executeRun } from "../../src/workflow/execute.ts";
import type { RunHost, StepEvent } from "../../src/workflow/host.ts";
import type { Invocation } from "../../src/workflow/invoke.ts";
import type { RunOutcome } from "../../src/workflow/run-outcome.ts";

const AT = "2026-11-23T09:30:00.000Z";

export const journalStep = (step: ReportedStep): RunStep => ({
  output: null,
  error: null,
  attempt: 1,
  startedAt: AT,
  endedAt: step.status === "waiting" ? null : AT,
  wakeAt: step.status === "waiting" ? AT : null,
  signal: null,
  undoable: false,
  ...step,
});

/** A completed step, for journals that a test writes itself. */
export const done = (key: string, output: unknown = null, type: RunStep["type"] = "run"): RunStep =>
  journalStep({ key, type, status: "completed", output });

/** A run whose journal is in memory. */
export class MemoryRun {
  readonly #program: (context: WorkflowContext<never>) => unknown;
  readonly controller = new AbortController();
  journal: RunStep[];
  /** The keys of each call that stored steps. */
  readonly calls: string[][] = [];
  /** Events that steps have sent. */
  readonly events: StepEvent[] = [];
  /** What steps have invoked. */
  readonly invocations: Invocation[] = [];
  /** Keys of waits whose outcomes are there when they are stored. */
  readonly ready = new Set<string>();
  readonly input: unknown;
  attempt = 1;
  /** Whether it has ended, and its executions only undo. */
  undo = false;
  host: Partial<RunHost> = { misfitAfterMs: 0, timer: () => new Promise<never>(() => {}) };

  constructor(program: (context: WorkflowContext<never>) => unknown, { journal = [] as RunStep[], input = null as unknown } = {}) {
    this.#program = program;
    this.journal = journal;
    this.input = input;
  }

  get keys(): string[] {
    return this.journal.map(({ key }) => key);
  }

  /** Stores what is not in the journal yet. */
  append(steps: readonly ReportedStep[]): void {
    for (const step of steps) {
      const at = this.keys.indexOf(step.key);
      const stored = this.journal[at];
      if (!stored) this.journal.push(journalStep(step));
      else if (step.type === "sleep" && step.status === "completed" && stored.status === "waiting") {
        this.journal.splice(at, 1);
        this.journal.push(journalStep(step));
      } else if (step.status === "cancelled") this.journal[at] = { ...stored, status: "cancelled", output: null, endedAt: AT };
    }
  }

  /** One execution, from the top. */
  async execute(host: Partial<RunHost> = {}): Promise<RunOutcome> {
    const run: TakenRun = {
      runId: "run_1",
      workflowId: "test",
      version: null,
      attempt: this.attempt,
      attempts: 3,
      input: this.input,
      trigger: { type: "api" },
      createdAt: AT,
      journal: this.#ordered(),
      ...(this.undo && { undo: true }),
      lease_token: "t",
      lease_expires_at: AT,
    };
    const outcome = await executeRun(workflow({ id: "test" }, this.#program), run, {
      store: async (steps) => {
        this.calls.push(steps.map(({ key }) => key));
        this.append(steps);
        return steps.flatMap(({ key, status }) => (status === "waiting" && this.ready.has(key) ? [key] : []));
      },
      registerSignal: async ({ key }, signal) => {
        this.append([{ key, type: "signal", status: "completed", output: { signal } }]);
        return { signal };
      },
      sendEvent: async ({ key }, event) => {
        this.events.push(event);
        this.append([{ key, type: "event", status: "completed", output: { eventId: `evt_${this.events.length}`, runIds: [] } }]);
        return this.journal.at(-1)?.output;
      },
      invoke: async ({ key }, invocation) => {
        const runId = `run_${key}`;
        this.invocations.push(invocation);
        this.append([{ key, type: "invoke", status: "waiting", output: { runId } }]);
        return { runId };
      },
      signal: this.controller.signal,
      ...this.host,
      ...host,
    });
    if ("steps" in outcome) this.append(outcome.steps ?? []);
    if (outcome.outcome === "failed" && outcome.retry === true && this.attempt < run.attempts) this.#forget(outcome.retry_steps ?? []);
    return outcome;
  }

  /** Ends the sleep with this key, or the first one. */
  wake(key = this.journal.find(({ status }) => status === "waiting")?.key): void {
    const step = this.journal.find((one) => one.key === key);
    if (!step) throw new Error(`No step "${key}" waits.`);
    this.journal = [...this.journal.filter((one) => one !== step), { ...step, status: "completed", endedAt: AT }];
  }

  /** Executes until the run has ended, and ends each sleep. */
  async finish(): Promise<RunOutcome> {
    for (;;) {
      const outcome = await this.execute();
      if (outcome.outcome !== "suspended") return outcome;
      this.wake();
    }
  }

  /** The next attempt executes these steps again. */
  #forget(keys: readonly string[]): void {
    this.journal = this.journal.filter(({ key, status }) => !keys.includes(key) || (status !== "failed" && status !== "cancelled"));
  }

  /** Those that wait come last. */
  #ordered(): RunStep[] {
    return [...this.journal].sort((a, b) => Number(a.status === "waiting") - Number(b.status === "waiting"));
  }
}
