import type * as contract from "@tidemill/contract";
import { TidemillError } from "../error.ts";
import { RunAbortedError } from "../workflow/errors.ts";
import { type Asked, isRefused, WAIT_SECONDS, WorkerCalls } from "./calls.ts";
import { JobAbortedError } from "./errors.ts";
import { type Held, HeldLeases } from "./held-leases.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { readWorkerOptions, type WorkerOptions, type WorkerSettings } from "./options.ts";
import { atStop, kindOf, type Outcome, Outcomes, type WorkOutcome, withoutContent, workOutcome } from "./outcomes.ts";
import { registerWorkflows } from "./register.ts";
import { runHook } from "./run-hook.ts";
import { runJob } from "./run-job.ts";
import { runWorkflow } from "./run-workflow.ts";
import { onSignals } from "./signals.ts";

/** Jobs and runs in one call. */
const MAX_JOBS = 500;
/** Calls that report outcomes at the same time: while one is on its way, the next one collects. */
const MAX_REPORTS = 2;
/** How long handlers and workflows may run on after their signals were aborted because the worker stops. Milliseconds. */
const RELEASE_AFTER_MS = 1_000;

/**
 * Takes jobs of queues without `callback_url`, and runs of workflows, and executes them.
 *
 * ```ts
 * const worker = new Worker({ queues: { emails: async (job) => send(job.payload) }, concurrency: 20 });
 * await worker.run();
 * ```
 */
export class Worker {
  readonly #settings: WorkerSettings;
  readonly #calls: WorkerCalls;
  readonly #held = new HeldLeases();
  readonly #leases: LeaseKeeper;
  readonly #outcomes = new Outcomes();
  readonly #ended: Promise<void>;
  #end: () => void = () => {};
  #endWith: (error: unknown) => void = () => {};
  /** Ends the calls that register workflows and wait for jobs, when the worker stops. */
  readonly #taking = new AbortController();
  #running: Promise<void> | null = null;
  #reports = 0;
  #waits = 0;
  /** Jobs and runs that calls under way may bring. */
  #expected = 0;
  #stopping = false;
  #scheduled = false;

  /** @throws {TypeError} naming the option that is missing or wrong */
  constructor(options: WorkerOptions) {
    this.#settings = readWorkerOptions(options);
    this.#calls = new WorkerCalls(this.#settings);
    const { leaseSeconds, logger } = this.#settings;
    this.#leases = new LeaseKeeper({
      held: this.#held,
      leaseSeconds,
      extend: (leases, waitSeconds, signal) => this.#calls.extend(leases, waitSeconds, signal),
      onError: (error) => logger.error("Leases could not be extended.", { worker: this.name, error: String(error) }),
    });
    this.#ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#endWith = reject;
    });
  }

  get name(): string {
    return this.#settings.name;
  }

  /**
   * Runs until the worker is stopped, by `stop` or a signal. While the service is away, it tries again.
   *
   * @throws {TidemillError} when the service refuses a workflow, or the worker's first call, for example UNAUTHORIZED, or NOT_FOUND for a queue
   */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** Takes no more jobs and runs, and waits until those that it has taken have ended and are reported. */
  async stop(): Promise<void> {
    if (!this.#running) return;
    this.#beginStop();
    await this.#running.catch(() => {});
  }

  async #run(): Promise<void> {
    const forget = onSignals(this.#settings.signals, () => this.#beginStop());
    try {
      await this.#register();
      this.#pump();
      await this.#ended;
    } finally {
      forget();
      this.#leases.stop();
    }
  }

  async #register(): Promise<void> {
    try {
      await registerWorkflows(this.#settings, this.#calls, this.#taking.signal);
    } catch (error) {
      if (!this.#stopping) throw error;
    }
  }

  #beginStop(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#settings.logger.info("The worker stops.", { worker: this.name, running: this.#held.size });
    this.#taking.abort(new Error("The worker stops."));
    let timer = setTimeout(() => {
      this.#held.abortAll("shutdown");
      timer = setTimeout(() => this.#releaseAll(), RELEASE_AFTER_MS);
    }, this.#settings.stopTimeoutMs);
    const stopTimer = () => clearTimeout(timer);
    this.#ended.then(stopTimer, stopTimer);
    this.#pump();
  }

  /** Gives back the jobs and runs that do not end. Hooks have failed. */
  #releaseAll(): void {
    for (const { lease } of this.#held.removeAll()) {
      const kind = kindOf(lease);
      const outcome = atStop(lease);
      const what = outcome.outcome === "released" ? "It is given back." : "It has failed.";
      this.#settings.logger.warn(`A ${kind} did not end in time. ${what}`, { worker: this.name, [kind]: lease.id });
      this.#outcomes.add(workOutcome(lease, outcome));
    }
    this.#pump();
  }

  /** Reports outcomes, takes jobs and runs for which there is room, and ends the worker when it stops and nothing is left. */
  #pump(): void {
    while (this.#outcomes.size > 0 && this.#reports < MAX_REPORTS) void this.#report();
    if (!this.#stopping && this.#waits === 0 && this.#room > 0) void this.#waitForJobs();
    if (this.#stopping && this.#held.size === 0 && this.#outcomes.size === 0 && this.#reports + this.#waits === 0) this.#end();
  }

  /** Outcomes of jobs that end in the same turn of the event loop share a call. */
  #pumpSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => {
      this.#scheduled = false;
      this.#pump();
    }, 0);
  }

  get #room(): number {
    return Math.min(MAX_JOBS, this.#settings.concurrency - this.#held.size - this.#expected);
  }

  async #report(): Promise<void> {
    const outcomes = this.#outcomes.take();
    const limit = this.#stopping ? 0 : Math.max(0, this.#room);
    this.#reports += 1;
    this.#expected += limit;
    try {
      await this.#settle(outcomes, limit);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#reports -= 1;
      this.#pump();
    }
  }

  /**
   * Reports outcomes, and takes up to `limit` jobs and runs. If the service refuses the call, the outcomes are reported without asking for more, then
   * in halves, until the one that is at fault is found: it must not keep the others from being stored.
   */
  async #settle(outcomes: readonly WorkOutcome[], limit: number): Promise<void> {
    const asked = this.#asked(limit);
    try {
      const { settled } = await this.#work(asked, outcomes);
      for (const [index, one] of settled.entries()) this.#check(one, outcomes[index]);
    } catch (error) {
      if (!(error instanceof TidemillError) || !isRefused(error, asked, outcomes)) throw error;
      if (limit > 0) return this.#settle(outcomes, 0);
      const [first] = outcomes;
      if (outcomes.length === 1 && first) return this.#reportWithout(first, error);
      const half = Math.ceil(outcomes.length / 2);
      await this.#settle(outcomes.slice(0, half), 0);
      await this.#settle(outcomes.slice(half), 0);
    }
  }

  /** Reports a refused outcome again, without what was written into it: that the job or run has ended must not be lost. */
  #reportWithout(refused: WorkOutcome, { code, message }: { readonly code: string | null; readonly message: string | null }): void {
    const { logger } = this.#settings;
    const kind = kindOf(refused.lease);
    logger.error(`The outcome of a ${kind} was refused.`, { worker: this.name, [kind]: refused.lease.id, code, message });
    const rest = withoutContent(refused, code);
    if (rest) this.#outcomes.add(rest);
  }

  async #waitForJobs(): Promise<void> {
    const limit = this.#room;
    this.#waits += 1;
    this.#expected += limit;
    try {
      await this.#work({ ...this.#asked(limit), wait: WAIT_SECONDS }, [], this.#taking.signal);
    } catch (error) {
      if (!this.#taking.signal.aborted) this.#fail(error);
    } finally {
      this.#waits -= 1;
      this.#pump();
    }
  }

  /** The service refuses the worker itself. Jobs that it holds go to others when their leases end. */
  #fail(error: unknown): void {
    this.#endWith(error);
    this.#held.abortAll("shutdown");
    this.#outcomes.clear();
    this.#beginStop();
  }

  #asked(limit: number): Pick<Asked, "queues" | "workflows" | "limit"> {
    if (limit === 0) return { queues: [] };
    const { handlers, workflows } = this.#settings;
    return { queues: [...handlers.keys()], ...(workflows.size > 0 && { workflows: [...workflows.keys()] }), limit };
  }

  async #work(asked: Asked, outcomes: readonly WorkOutcome[], signal?: AbortSignal): Promise<contract.WorkResponse> {
    try {
      const response = await this.#calls.work(asked, outcomes, signal);
      for (const id of response.cancelled) this.#held.lose(id, "cancelled");
      for (const job of response.jobs) void this.#runJob(job);
      for (const run of response.runs) void this.#runWorkflow(run);
      for (const hook of response.hooks) void this.#runHook(hook);
      return response;
    } finally {
      this.#expected -= asked.limit ?? 0;
    }
  }

  #runJob(job: contract.TakenJob): Promise<void> {
    const held = this.#held.add(job, (why) => new JobAbortedError(why));
    return this.#execute(held, runJob(this.#settings, job, held.controller.signal));
  }

  #runWorkflow(run: contract.TakenRun): Promise<void> {
    const { runId: id, lease_token } = run;
    const held = this.#held.add({ id, lease_token }, (why) => new RunAbortedError(why));
    return this.#execute(held, runWorkflow(this.#settings, this.#calls, this.#held, run, held));
  }

  #runHook(hook: contract.TakenHook): Promise<void> {
    const held = this.#held.add(hook, (why) => new RunAbortedError(why));
    return this.#execute(held, runHook(this.#settings, hook));
  }

  async #execute(held: Held, execution: Promise<Outcome>): Promise<void> {
    const timer = setTimeout(() => void this.#leases.start(), this.#leases.firstMs);
    const outcome = await execution;
    clearTimeout(timer);
    if (this.#held.remove(held)) this.#outcomes.add(workOutcome(held.lease, outcome));
    this.#pumpSoon();
  }

  #check({ id, ok, code, message }: contract.Settled, outcome: WorkOutcome | undefined): void {
    if (ok) return;
    if (code !== "LEASE_LOST" && outcome) this.#reportWithout(outcome, { code, message });
    else this.#late({ id });
  }

  #late(lease: { readonly id: string }): void {
    const kind = kindOf(lease);
    this.#settings.logger.warn(`The outcome of a ${kind} came too late.`, { worker: this.name, [kind]: lease.id });
  }
}
