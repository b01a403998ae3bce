import { LIMITS } from "@tidemill/contract/limits";
import { type Batched, Batcher, MAX_CHARACTERS } from "../batcher.ts";
import { TidemillError } from "../error.ts";
import type { EnqueuedJob } from "../job.ts";
import { type TraceHeaders, traceHeaders } from "../trace.ts";
import type { Transport } from "../transport.ts";
import type { EncodedJob } from "./encode-job.ts";
import { sendJobs } from "./send-jobs.ts";
import { splitRefused } from "./split-refused.ts";

interface TracedJob extends EncodedJob {
  readonly trace: TraceHeaders;
}

type Batch = readonly Batched<TracedJob, EnqueuedJob>[];

const MAX_BATCH = { jobs: LIMITS.batchJobs, characters: MAX_CHARACTERS };

/** Sends jobs of one queue that are enqueued at the same time in batches. */
export class EnqueueBatcher {
  readonly #transport: Transport;
  readonly #queue: string;
  readonly #batcher: Batcher<TracedJob, EnqueuedJob, keyof typeof MAX_BATCH>;

  /** @param onIdle called when its last job has been sent */
  constructor(transport: Transport, queue: string, onIdle: () => void) {
    this.#transport = transport;
    this.#queue = queue;
    this.#batcher = new Batcher({
      limits: () => MAX_BATCH,
      sizeOf: ({ text }) => ({ jobs: 1, characters: text.length }),
      // In a batch with both, jobs without an idempotency key of their own would cost the service as much as those with one.
      goesWith: (first, { hasKey }) => first.hasKey === hasKey,
      send: (batch) => this.#send(batch),
      onIdle,
    });
  }

  add(job: EncodedJob, signal: AbortSignal | undefined): Promise<EnqueuedJob> {
    return this.#batcher.add({ ...job, trace: traceHeaders() }, signal);
  }

  /** Never rejects. */
  async #send(batch: Batch): Promise<void> {
    const jobs = batch.map(({ item }) => item);
    try {
      const enqueued = await sendJobs(this.#transport, { queue: this.#queue, jobs, trace: sharedTrace(jobs) });
      for (const [at, { resolve }] of batch.entries()) resolve(enqueued[at] as EnqueuedJob);
    } catch (error) {
      await this.#settleRefused(batch, error);
    }
  }

  async #settleRefused(batch: Batch, error: unknown): Promise<void> {
    if (!(error instanceof TidemillError)) {
      for (const { reject } of batch) reject(error);
      return;
    }
    const { refused, again } = splitRefused(
      batch.map(({ item }) => item),
      error,
    );
    for (const [at, own] of refused) batch[at]?.reject(own);
    await Promise.all(again.map((group) => this.#send(group.map((at) => batch[at] as Batch[number]))));
  }
}

const NONE: TraceHeaders = {};

/** A batch continues a trace only if all of its jobs belong to it. */
function sharedTrace(jobs: readonly TracedJob[]): TraceHeaders {
  const trace = jobs[0]?.trace ?? NONE;
  return jobs.every((job) => job.trace === trace || job.trace.traceparent === trace.traceparent) ? trace : NONE;
}
