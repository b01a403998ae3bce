import type { JobCount, JobFilter, ListAllJobs, Operation, StartOperation } from "@tidemill/contract";
import type { Api } from "../api.ts";
import type { Job } from "../job.ts";
import type { CallOptions } from "../options.ts";
import type { List } from "../page.ts";

/**
 * The jobs of all queues.
 *
 * ```ts
 * for await (const job of tidemill.jobs.list({ state: "failed", error_code: "TIMEOUT" })) console.log(job.queue, job.id);
 * const operation = await tidemill.jobs.retry({ filter: { state: "failed", queue: "emails" } });
 * ```
 */
export class AllJobs {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Live and finished jobs of all queues, newest first: those that match every filter. */
  list(filter: ListAllJobs = {}, call?: CallOptions): List<Job, ListAllJobs> {
    return this.#api.list("/v1/jobs", filter, call);
  }

  /** How many jobs match every filter; a lower bound if `exact` is false. */
  count(filter: JobFilter = {}, call?: CallOptions): Promise<JobCount> {
    return this.#api.get("/v1/jobs/count", call, filter);
  }

  /** Starts to retry failed, cancelled and rejected jobs: those that match a filter, or have one of the ids. */
  retry(which: StartOperation, call?: CallOptions): Promise<Operation> {
    return this.#api.post("/v1/jobs/retry", which, call);
  }

  /** Starts to cancel jobs that have not finished. */
  cancel(which: StartOperation, call?: CallOptions): Promise<Operation> {
    return this.#api.post("/v1/jobs/cancel", which, call);
  }

  /** Starts to remove jobs that have finished. */
  remove(which: StartOperation, call?: CallOptions): Promise<Operation> {
    return this.#api.post("/v1/jobs/remove", which, call);
  }
}
