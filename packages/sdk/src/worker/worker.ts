import type * as contract from "@tidemill/contract";
import { TidemillError } from "../error.ts";
import { chance } from "../random.ts";
import { waitBeforeNext } from "../retry.ts";
import { Transport } from "../transport.ts";
import { wait } from "../wait.ts";
import { type HeldJob, HeldJobs } from "./held-jobs.ts";
import { readWorkerOptions, type WorkerOptions, type WorkerSettings } from "./options.ts";
import { runJob } from "./run-job.ts";
import { onSignals } from "./signals.ts";

/** How long a call waits for a job. Seconds. */
const WAIT_SECONDS = 20;
const CALL_TIMEOUT_MS = 30_000;
/** Jobs in one call. */
const MAX_JOBS = 500;
/** Calls that report outcomes at the same time: while one is on its way, the next one collects. */
const MAX_REPORTS = 2;
/** Jobs that run for less are not extended. Milliseconds. */
const FIRST_EXTEND_MS = 1_000;
/** Leases in one call. */
const MAX_EXTENDED = 1_000;
const ERROR_PAUSE_MS = 5_000;

/**
 * Takes jobs of queues without `callback_url`, and runs them.
 *
 * ```ts
 * const worker = new Worker({ queues: { emails: async (job) => send(job.payload) }, concurrency: 20 });
 * await worker.run();
 * ```
 */
export class Worker {
  readonly #settings: WorkerSettings;
  readonly #transport: Transport;
  readonly #held = new HeldJobs();
  readonly #ended = Promise.withResolvers<void>();
  /** Ends the call that waits for jobs, when the worker stops. */
  readonly #taking = new AbortController();
  #outcomes: contract.SettleJob[] = [];
  #running: Promise<void> | null = null;
  #reports = 0;
  #waits = 0;
  /** Jobs that calls under way may bring. */
  #expected = 0;
  /** Tells its calls apart from those of an earlier process of the same name. */
  readonly #process = Math.floor(chance() * 36 ** 8).toString(36);
  #calls = 0;
  #wasAnswered = false;
  #stopping = false;
  #scheduled = false;
  #extending = false;

  /** @throws {TypeError} naming the option that is missing or wrong */
  constructor(options: WorkerOptions) {
    this.#settings = readWorkerOptions(options);
    this.#transport = new Transport({ ...this.#settings, retryForMs: 0, timeoutMs: CALL_TIMEOUT_MS });
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
      this.#pump();
      await this.#ended.promise;
    } finally {
      forget();
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

  #asks(limit: number): Pick<contract.WorkRequest, "queues" | "limit"> {
    return limit === 0 ? { queues: [] } : { queues: [...this.#settings.handlers.keys()], limit };
  }

  /** Calls until the service has answered, always by the same name: so a call that is repeated takes no other jobs. */
  async #work(
    call: Omit<contract.WorkRequest, "worker">,
    signal: AbortSignal | undefined,
    expected: number,
  ): Promise<contract.WorkResponse> {
    const { name, version, leaseSeconds } = this.#settings;
    this.#calls += 1;
    const body: contract.WorkRequest = {
      worker: name,
      ...(version && { version }),
      lease: leaseSeconds,
      request: `${this.#process}-${this.#calls}`,
      ...call,
    };
    try {
      const answer = (await this.#send("/v1/work", { ...body, repeat: false }, signal, body)) as contract.WorkResponse;
      for (const id of answer.cancelled) this.#held.lose(id, "cancelled");
      for (const job of answer.jobs) void this.#runJob(this.#held.add(job));
      return answer;
    } finally {
      this.#expected -= expected;
    }
  }

  /** @param repeat is what is sent after the first try, if that is something else */
  async #send(path: string, body: object, signal: AbortSignal | undefined, repeat = body): Promise<unknown> {
    const bodyOfRepeat = () => JSON.stringify(repeat);
    for (let tries = 1; ; tries += 1) {
      try {
        const sent = tries === 1 ? JSON.stringify(body) : bodyOfRepeat();
        const request = { method: "POST" as const, path, body: sent, bodyOfRepeat, repeatable: true };
        const answer = await this.#transport.request(request, signal ? { signal } : {});
        this.#wasAnswered = true;
        return answer;
      } catch (error) {
        if (signal?.aborted || !(error instanceof TidemillError)) throw error;
        const isOurs = error.status !== null && error.status < 500 && error.status !== 429;
        if (isOurs && !this.#wasAnswered) throw error;
        if (tries === 1)
          this.#settings.logger.warn("A call of the worker failed. It is tried again.", {
            worker: this.name,
            code: error.code,
            error: error.message,
          });
        await wait(isOurs ? ERROR_PAUSE_MS : waitBeforeNext(error, tries, chance()), signal);
      }
    }
  }

  async #runJob(job: HeldJob): Promise<void> {
    const timer = setTimeout(() => void this.#extend(), FIRST_EXTEND_MS);
    const outcome = await runJob(this.#settings, job.taken, job.controller.signal);
    clearTimeout(timer);
    if (this.#held.remove(job)) this.#outcomes.push({ id: job.taken.id, lease_token: job.taken.lease_token, ...outcome });
    this.#pumpSoon();
  }

  /** A result that is too large is left out: the job itself has succeeded. */
  #check({ id, ok, code, message }: contract.Settled, sent: readonly contract.SettleJob[]): void {
    if (ok) return;
    const { logger } = this.#settings;
    if (code === "LEASE_LOST") {
      logger.warn("The outcome of a job came too late.", { worker: this.name, job: id });
      return;
    }
    logger.error("The outcome of a job was refused.", { worker: this.name, job: id, code, message });
    const outcome = sent.find((one) => one.id === id);
    if (!outcome || code !== "PAYLOAD_TOO_LARGE") return;
    const { result: _, ...rest } = outcome;
    this.#outcomes.push(rest);
  }

  /** Extends the leases of all jobs as long as any run. Each call waits at the service for a job to be cancelled. */
  async #extend(): Promise<void> {
    if (this.#extending) return;
    this.#extending = true;
    const lease = this.#settings.leaseSeconds;
    try {
      while (this.#held.size > 0) {
        const held = [...this.#held].map(({ id, lease_token }) => ({ id, lease_token }));
        for (let from = 0; from < held.length; from += MAX_EXTENDED) {
          const isLast = from + MAX_EXTENDED >= held.length;
          await this.#extendSome(held.slice(from, from + MAX_EXTENDED), isLast ? Math.min(10, Math.floor(lease / 3)) : 0);
        }
      }
    } catch (error) {
      this.#settings.logger.error("Leases could not be extended.", { worker: this.name, error: String(error) });
    } finally {
      this.#extending = false;
    }
  }

  async #extendSome(leases: contract.ExtendRequest["leases"], wait: number): Promise<void> {
    const body = { worker: this.name, leases, lease: this.#settings.leaseSeconds, wait };
    const answer = (await this.#send("/v1/work/extend", body, undefined)) as contract.ExtendResponse;
    for (const id of answer.cancelled) this.#held.lose(id, "cancelled");
    for (const [index, { id, ok }] of answer.leases.entries()) if (!ok) this.#held.lose(id, "lease_lost", leases[index]?.lease_token);
  }
}
