import type { Api } from "./api.ts";
import { checkObject } from "./check-names.ts";
import type { EnqueueOptions } from "./delays.ts";
import { encodeJob } from "./enqueue/encode-job.ts";
import type { EnqueueBatcher } from "./enqueue/enqueue-batcher.ts";
import { sendJob, sendJobs } from "./enqueue/send-jobs.ts";
import type { EnqueuedJob, NewJob } from "./job.ts";
import { type CallOptions, checkCall } from "./options.ts";
import { Jobs } from "./resources/jobs.ts";
import { checkPayload, type StandardSchema } from "./schema.ts";

/** A queue: enqueues jobs, and gives access to them. The queue's settings are at `tidemill.queues`. */
export class Queue<Payload> {
  readonly name: string;
  readonly jobs: Jobs<Payload>;
  readonly #api: Api;
  readonly #schema: StandardSchema<Payload> | undefined;
  readonly #batcher: (queue: string) => EnqueueBatcher | null;

  constructor(
    api: Api,
    name: string,
    { schema, batcher }: { schema: StandardSchema<Payload> | undefined; batcher: (queue: string) => EnqueueBatcher | null },
  ) {
    this.name = name;
    this.jobs = new Jobs(api, name);
    this.#api = api;
    this.#schema = schema;
    this.#batcher = batcher;
  }

  /**
   * Enqueues a job. When the promise resolves, the job is stored durably. Calls for the same queue that are made at the same time share
   * requests; each gets its own job or error. A call with `timeoutMs` has a request of its own.
   *
   * @param payload any JSON value of at most 1 MiB
   * @throws {TidemillError} VALIDATION_ERROR, QUOTA_EXCEEDED, NOT_FOUND (the queue), IDEMPOTENCY_MISMATCH and others
   */
  async enqueue(payload: Payload, options: EnqueueOptions = {}, call: CallOptions = {}): Promise<EnqueuedJob<Payload>> {
    checkObject("The options of enqueue", options);
    checkCall(call);
    const { signal, timeoutMs } = call;
    signal?.throwIfAborted();
    if (this.#schema) await checkPayload(this.#schema, payload);
    signal?.throwIfAborted();
    const job = encodeJob(payload, options);
    const batcher = timeoutMs === undefined ? this.#batcher(this.name) : null;
    if (batcher) return batcher.add(job, signal) as Promise<EnqueuedJob<Payload>>;
    return (await sendJob(this.#api.transport, this.name, job, { signal, timeoutMs })) as EnqueuedJob<Payload>;
  }

  /**
   * Enqueues 1 to 1,000 jobs with one request: all of them or none.
   *
   * @returns the jobs in their order
   */
  async enqueueMany(jobs: readonly NewJob<Payload>[], call: CallOptions = {}): Promise<EnqueuedJob<Payload>[]> {
    const encoded = [];
    if (!Array.isArray(jobs)) throw new TypeError("enqueueMany needs an array of jobs, each { payload, … }.");
    for (const [at, job] of (jobs as readonly NewJob<Payload>[]).entries()) {
      checkObject(`jobs[${at}]`, job);
      const { payload, ...options } = job;
      if (this.#schema) await checkPayload(this.#schema, payload, `jobs[${at}].payload`);
      encoded.push(encodeJob(payload, options, `jobs[${at}]`));
    }
    return (await sendJobs(this.#api.transport, { queue: this.name, jobs: encoded }, call)) as EnqueuedJob<Payload>[];
  }
}
