import type { ApproveJob, Explanation, ListJobs, RejectJob, SignedCallback } from "@tidemill/contract";
import { type Api, pathOf } from "../api.ts";
import type { Job, JobWithLog } from "../job.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/** The jobs of one queue. */
export class Jobs<Payload> {
  readonly #api: Api;
  readonly #queue: string;

  constructor(api: Api, queue: string) {
    this.#api = api;
    this.#queue = queue;
  }

  list(filter: ListJobs = {}, call?: CallOptions): List<Job<Payload>, ListJobs> {
    return this.#api.list(this.#path(), filter, call);
  }

  /** A job with its attempts. */
  get(id: string, call?: CallOptions): Promise<JobWithLog<Payload>> {
    return this.#api.get(this.#path(id), call);
  }

  /** Why a job is not running, and when it is expected to start. */
  explain(id: string, call?: CallOptions): Promise<Explanation> {
    return this.#api.get(this.#path(id, "explain"), call);
  }

  /**
   * Cancels a job that has not finished, and returns it. A job that has finished is removed: then the result is null.
   */
  async cancelOrRemove(id: string, call?: CallOptions): Promise<Job<Payload> | null> {
    return (await this.#api.deleteOrReturn<Job<Payload>>(this.#path(id), call)) ?? null;
  }

  /** Puts a failed, cancelled or rejected job back to wait, with a fresh set of attempts. */
  retry(id: string, call?: CallOptions): Promise<Job<Payload>> {
    return this.#api.post(this.#path(id, "retry"), undefined, call);
  }

  /** The job as a signed request to a handler under development. Nothing is sent, and its templates are not replaced. It is audited. */
  replay(id: string, call?: CallOptions): Promise<SignedCallback> {
    return this.#api.post(this.#path(id, "replay"), undefined, call);
  }

  /** Lets a job of an approval queue start. */
  approve(id: string, decision: ApproveJob = {}, call?: CallOptions): Promise<Job<Payload>> {
    return this.#api.post(this.#path(id, "approve"), decision, call);
  }

  /** Ends a job of an approval queue before it starts. */
  reject(id: string, decision: RejectJob = {}, call?: CallOptions): Promise<Job<Payload>> {
    return this.#api.post(this.#path(id, "reject"), decision, call);
  }

  #path(...rest: string[]): string {
    return pathOf("queues", this.#queue, "jobs", ...rest);
  }
}
