import type * as contract from "@tidemill/contract";
import { chance } from "../random.ts";
import { RunAbortedError } from "../workflow/errors.ts";
import type { RunOutcome, SettleRun, TakenRun } from "../workflow/protocol.ts";
import { JobAbortedError } from "./errors.ts";
import { LeaseExtender } from "./extend-leases.ts";
import { type Held, HeldLeases } from "./held-leases.ts";
import { readWorkerOptions, type WorkerOptions, type WorkerSettings } from "./options.ts";
import { registerWorkflows } from "./register.ts";
import { type Outcome, runJob } from "./run-job.ts";
import { runWorkflow } from "./run-workflow.ts";
import { ServiceCalls } from "./service-calls.ts";
import { onSignals } from "./signals.ts";

/** How long a call waits for a job. Seconds. */
const WAIT_SECONDS = 20;
/** Jobs in one call. */
const MAX_JOBS = 500;
/** Calls that report outcomes at the same time: while one is on its way, the next one collects. */
const MAX_REPORTS = 2;
/** Jobs that run for less are not extended. Milliseconds. */
const FIRST_EXTEND_MS = 1_000;

type Settle = contract.SettleJob | SettleRun;
type WorkRequest = Omit<contract.WorkRequest, "settle"> & { readonly workflows?: string[]; readonly settle?: readonly Settle[] };
type WorkResponse = contract.WorkResponse & { readonly runs?: readonly TakenRun[] };

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
  readonly #calls: ServiceCalls;
  readonly #held = new HeldLeases();
  readonly #extender: LeaseExtender;
  readonly #ended = Promise.withResolvers<void>();
  /** Ends the call that waits for jobs, when the worker stops. */
  readonly #taking = new AbortController();
  #outcomes: Settle[] = [];
  #running: Promise<void> | null = null;
  #reports = 0;
  #waits = 0;
  /** Jobs that calls under way may bring. */
  #expected = 0;
  /** Tells its calls apart from those of an earlier process of the same name. */
  readonly #process = Math.floor(chance() * 36 ** 8).toString(36);
  #requests = 0;
  #stopping = false;
  #scheduled = false;

  /** @throws {TypeError} naming the option that is missing or wrong */
  constructor(options: WorkerOptions) {
    this.#settings = readWorkerOptions(options);
    this.#calls = new ServiceCalls(this.#settings);
    this.#extender = new LeaseExtender(this.#settings, this.#calls, this.#held);
  }

  get name(): string {
    return this.#settings.name;
  }

  /**
   * Runs until the worker is stopped, by `stop` or a signal. While the service is away, it tries again.
   *
   * @throws {TidemillError} when the service refuses the worker's first call, for example UNAUTHORIZED, or NOT_FOUND for a queue
   */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** Takes no more jobs, and waits until those that run have ended and are reported. */
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
      await this.#ended.promise;
    } finally {
      forget();
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
    const timer = setTimeout(() => this.#held.abortAll("shutdown"), this.#settings.stopTimeoutMs);
    void this.#ended.promise.then(
      () => clearTimeout(timer),
      () => clearTimeout(timer),
    );
    this.#pump();
  }

  /** Reports outcomes, takes jobs for which there is room, and ends the worker when it stops and nothing is left. */
  #pump(): void {
    while (this.#outcomes.length > 0 && this.#reports < MAX_REPORTS) void this.#report();
    if (!this.#stopping && this.#waits === 0 && this.#room > 0) void this.#waitForJobs();
    if (this.#stopping && this.#held.size === 0 && this.#outcomes.length === 0 && this.#reports + this.#waits === 0) this.#ended.resolve();
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
    const settle = this.#outcomes.splice(0, MAX_JOBS);
    const limit = this.#stopping ? 0 : Math.max(0, this.#room);
    this.#reports += 1;
    this.#expected += limit;
    try {
      const { settled } = await this.#work({ ...this.#asks(limit), settle }, undefined, limit);
      for (const one of settled) this.#check(one, settle);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#reports -= 1;
      this.#pump();
    }
  }

  async #waitForJobs(): Promise<void> {
    const limit = this.#room;
    this.#waits += 1;
    this.#expected += limit;
    try {
      await this.#work({ ...this.#asks(limit), wait: WAIT_SECONDS }, this.#taking.signal, limit);
    } catch (error) {
      if (!this.#taking.signal.aborted) this.#fail(error);
    } finally {
      this.#waits -= 1;
      this.#pump();
    }
  }

  /** The service refuses the worker itself. Jobs that it holds go to others when their leases end. */
  #fail(error: unknown): void {
    this.#ended.reject(error);
    this.#held.abortAll("shutdown");
    this.#outcomes = [];
    this.#beginStop();
  }

  #asks(limit: number): Pick<WorkRequest, "queues" | "workflows" | "limit"> {
    if (limit === 0) return { queues: [] };
    const { handlers, workflows } = this.#settings;
    return { queues: [...handlers.keys()], ...(workflows.size > 0 && { workflows: [...workflows.keys()] }), limit };
  }

  /** Calls until the service has answered, always by the same name: so a call that is repeated takes no other jobs. */
  async #work(call: Omit<WorkRequest, "worker">, signal: AbortSignal | undefined, expected: number): Promise<WorkResponse> {
    const { name, version, leaseSeconds } = this.#settings;
    this.#requests += 1;
    const repeat: WorkRequest = {
      worker: name,
      ...(version && { version }),
      lease: leaseSeconds,
      request: `${this.#process}-${this.#requests}`,
      ...call,
    };
    try {
      const answer = (await this.#calls.send("/v1/work", { ...repeat, repeat: false }, { signal, repeat })) as WorkResponse;
      for (const id of answer.cancelled) this.#held.lose(id, "cancelled");
      for (const job of answer.jobs) void this.#runJob(job);
      for (const run of answer.runs ?? []) void this.#runWorkflow(run);
      return answer;
    } finally {
      this.#expected -= expected;
    }
  }

  #runJob(job: contract.TakenJob): Promise<void> {
    const { id, lease_token } = job;
    const held = this.#held.add({ id, lease_token }, (why) => new JobAbortedError(why));
    return this.#execute(held, runJob(this.#settings, job, held.controller.signal));
  }

  #runWorkflow(run: TakenRun): Promise<void> {
    const { runId, lease_token } = run;
    const held = this.#held.add({ id: runId, lease_token }, (why) => new RunAbortedError(why));
    return this.#execute(held, runWorkflow(this.#settings, this.#calls, this.#held, run, held));
  }

  async #execute(held: Held, execution: Promise<Outcome | RunOutcome>): Promise<void> {
    const timer = setTimeout(() => void this.#extender.start(), FIRST_EXTEND_MS);
    const outcome = await execution;
    clearTimeout(timer);
    if (this.#held.remove(held)) this.#outcomes.push({ ...held.lease, ...outcome });
    this.#pumpSoon();
  }

  #check({ id, ok, code, message }: contract.Settled, sent: readonly Settle[]): void {
    if (ok) return;
    const { logger } = this.#settings;
    const kind = isRun(id) ? "run" : "job";
    if (code === "LEASE_LOST") {
      logger.warn(`The outcome of a ${kind} came too late.`, { worker: this.name, [kind]: id });
      return;
    }
    logger.error(`The outcome of a ${kind} was refused.`, { worker: this.name, [kind]: id, code, message });
    const outcome = sent.find((one) => one.id === id);
    if (outcome && code === "PAYLOAD_TOO_LARGE") this.#outcomes.push(withoutResult(outcome));
  }
}

const isRun = (id: string): boolean => id.startsWith("run_");

/** A job whose result is too large has succeeded all the same. A run, whose result others need, fails for good. */
function withoutResult(outcome: Settle): Settle {
  if (!isRun(outcome.id)) {
    const { result: _, ...rest } = outcome as contract.SettleJob;
    return rest;
  }
  const { id, lease_token } = outcome;
  const error = outcome.outcome === "completed" ? "The result of the workflow is too large." : "The output of a step is too large.";
  return { id, lease_token, outcome: "failed", error, error_name: "Error", retry: false };
}
