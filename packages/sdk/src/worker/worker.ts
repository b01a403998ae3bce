import { refuseInCheck } from "../refuse-in-check.ts";
import type { AnyWorkflow } from "../workflow/workflow.ts";
import { WorkerCalls } from "./calls.ts";
import { readWorkerOptions, type WorkerOptions, type WorkerSettings } from "./options.ts";
import { registerWorkflows } from "./register.ts";
import { planShutdown } from "./shutdown.ts";
import { onSignals } from "./signals.ts";
import { WorkLoop } from "./work-loop.ts";

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
  readonly #loop: WorkLoop;
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;
  #cancelShutdown: () => void = () => {};

  /** @throws {TypeError} naming the option that is missing or wrong */
  constructor(options: WorkerOptions) {
    this.#settings = readWorkerOptions(options);
    this.#calls = new WorkerCalls(this.#settings);
    this.#loop = new WorkLoop(this.#settings, this.#calls);
  }

  get name(): string {
    return this.#settings.name;
  }

  /** The workflows whose runs are executed. */
  get workflows(): readonly AnyWorkflow[] {
    return [...this.#settings.workflows.values()];
  }

  /**
   * Runs until the worker is stopped, by `stop` or a signal. While the service cannot be reached, it keeps trying.
   *
   * @throws {TidemillError} when the service refuses a workflow, the worker's first call, for example NOT_FOUND for a queue, or the key for a
   * minute (UNAUTHORIZED); when something other than the service responds to the first calls for a minute (UNEXPECTED_RESPONSE)
   */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /**
   * Takes no more jobs and runs, and waits until those in progress have ended and are reported, at most for `stopTimeoutMs`. A stopped
   * worker cannot run again.
   */
  async stop(): Promise<void> {
    this.#beginStop();
    await this.#running?.catch(() => {});
  }

  async #run(): Promise<void> {
    refuseInCheck("no worker starts");
    if (this.#stopping.signal.aborted) return;
    const listeners = { first: () => this.#beginStop(), second: () => this.#loop.giveUp() };
    const forgetSignals = onSignals(this.#settings.signals, listeners);
    try {
      await this.#register();
      this.#loop.start();
      await this.#loop.ended;
    } finally {
      this.#stopping.abort();
      forgetSignals();
      this.#cancelShutdown();
      this.#loop.close();
    }
  }

  async #register(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      await registerWorkflows(this.#settings, this.#calls, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #beginStop(): void {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort(new Error("The worker stops."));
    if (!this.#running) return;
    this.#settings.logger.info("The worker stops.", { worker: this.name, running: this.#loop.executing });
    this.#cancelShutdown = planShutdown(this.#settings.stopTimeoutMs, {
      abort: () => this.#loop.abort(),
      release: () => this.#loop.release(),
      giveUp: () => this.#loop.giveUp(),
    });
    this.#loop.stop();
  }
}
