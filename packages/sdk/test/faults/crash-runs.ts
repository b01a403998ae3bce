import type { Run } from "@tidemill/contract";
import { Tidemill } from "@tidemill/sdk";
import { ask } from "../../../server/test/harness/ask.ts";
import { fractions } from "../../../server/test/harness/chance.ts";
import { KEY } from "../../../server/test/harness/process.ts";
import { until } from "../../../server/test/harness/service.ts";
import type { CrashStage, Fault } from "./crash-stage.ts";
import { FAULTS } from "./crash-stage.ts";
import { APPENDING_STEPS, PARENT, signalOf } from "./crash-workflows.ts";

/** How often it waits as long as `until` does. */
const PATIENCE = 4;

export interface CrashPlan {
  readonly runs: number;
  readonly faults: number;
  /** Chooses the faults, and at which progress each one happens. */
  readonly seed: number;
}

/** Starts runs in portions, and lets a fault happen within each portion. */
export class CrashRuns {
  readonly #stage: CrashStage;
  readonly #client: Tidemill;
  readonly #triggered: string[] = [];
  readonly #payloads = new Map<string, readonly string[]>();
  /** Completions in progress, by run. */
  readonly #completions = new Map<string, Promise<void>>();

  constructor(stage: CrashStage) {
    this.#stage = stage;
    this.#client = new Tidemill({ url: stage.url, key: KEY, retryForMs: 60_000 });
  }

  /** By run, payloads that may have completed its signal. */
  get payloads(): ReadonlyMap<string, readonly string[]> {
    return this.#payloads;
  }

  async run({ runs, faults, seed }: CrashPlan): Promise<void> {
    const random = fractions(seed);
    await until(() => this.#client.workflows.get(PARENT).then(Boolean, () => false), "the workflow to be registered");
    for (const [portion, fault] of chooseFaults(faults, random).entries()) {
      await this.#trigger(Math.floor(((portion + 1) * runs) / faults));
      const progress = (this.#triggered.length - random.next().value * (runs / faults)) * APPENDING_STEPS;
      await this.#until(() => this.#executed >= progress, `${Math.floor(progress)} steps to be executed`);
      await this.#stage.fault(fault, random.next().value);
    }
    this.#stage.thaw();
    await this.#until(async () => (await this.#left()) === 0, "every run and every hook to end");
    await Promise.all(this.#completions.values());
  }

  /** The runs with their journals. */
  async collect(): Promise<Run[]> {
    const runs: Run[] = [];
    for await (const { runId } of this.#client.runs.list({ limit: 100 })) runs.push(await this.#client.runs.get(runId));
    return runs;
  }

  async #trigger(count: number): Promise<void> {
    while (this.#triggered.length < count) {
      const { runIds } = await this.#client.workflows.trigger(PARENT, { idempotencyKey: `run-${this.#triggered.length}` });
      this.#triggered.push(...runIds);
    }
  }

  /** Meanwhile, it completes signals of runs that have got there. Processes that start on a busy machine may take longer than `until` waits. */
  async #until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
    const check = () => {
      for (const trace of this.#stage.traces)
        if (trace.kind === "step" && trace.step === "third" && !this.#completions.has(trace.run))
          this.#completions.set(trace.run, this.#complete(trace.run));
      return holds();
    };
    for (let tries = 1; tries < PATIENCE; tries += 1) {
      const reached = await until(check, what).then(
        () => true,
        () => false,
      );
      if (reached) return;
    }
    await until(check, `${what}, after ${this.#executed} steps of ${this.#triggered.length} runs`);
  }

  /** Completes the signal of a run. A call without a response may have completed it, so the next one has another payload. */
  async #complete(run: string): Promise<void> {
    const possible: string[] = [];
    this.#payloads.set(run, possible);
    for (let tries = 1; ; tries += 1) {
      const payload = `approved ${run}:${tries}`;
      const status = await ask(this.#stage.url, KEY, "POST", `/v1/signals/${signalOf(run)}/complete`, JSON.stringify(payload)).then(
        (reply) => reply.status,
        () => 0,
      );
      if (status === 200) this.#payloads.set(run, [payload]);
      if ([200, 404, 409].includes(status)) return;
      possible.push(payload);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Steps that were executed, each counted once. */
  get #executed(): number {
    return new Set(this.#stage.traces.flatMap((trace) => (trace.kind === "step" ? [`${trace.run} ${trace.step}`] : []))).size;
  }

  async #left(): Promise<number> {
    const [row] = await this.#stage
      .query<{ left: number }>("select count(*)::int as left from job where kind in ('run', 'hook')")
      .catch(() => [{ left: Number.NaN }]);
    return row?.left ?? Number.NaN;
  }
}

/** Each fault happens equally often, in a random order. */
function chooseFaults(count: number, random: Generator<number, never>): Fault[] {
  const chosen: Fault[] = [];
  while (chosen.length < count) {
    const round = FAULTS.map((fault) => ({ fault, at: random.next().value })).toSorted((one, other) => one.at - other.at);
    chosen.push(...round.map(({ fault }) => fault));
  }
  return chosen.slice(0, count);
}
