import { TidemillError } from "../error.ts";
import type { EnqueuedJob } from "../job.ts";
import { type TraceHeaders, traceHeaders } from "../trace.ts";
import type { Transport } from "../transport.ts";
import type { EncodedJob } from "./encode-job.ts";
import { sendJobs } from "./send-jobs.ts";
import { splitRefused } from "./split-refused.ts";

interface Pending extends EncodedJob {
  readonly trace: TraceHeaders;
  resolve(job: EnqueuedJob): void;
  reject(error: unknown): void;
}

/** The largest number of jobs that the service takes in a batch. */
const MAX_JOBS = 1_000;
/** A character takes at most 3 bytes, and a batch at most 16 MiB. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
const MAX_IN_FLIGHT = 2;

/**
 * Sends jobs of one queue that are enqueued at the same time in batches. A job that comes alone is sent immediately. While the allowed
 * number of requests is in flight, jobs wait for the first of them to end, and are then sent together.
 */
export class EnqueueBatcher {
  readonly #transport: Transport;
  readonly #queue: string;
  readonly #onIdle: () => void;
  #waiting: Pending[] = [];
  #inFlight = 0;
  #flushes = false;

  /** @param onIdle called when its last job has been sent */
  constructor(transport: Transport, queue: string, onIdle: () => void) {
    this.#transport = transport;
    this.#queue = queue;
    this.#onIdle = onIdle;
  }

  add({ text, hasKey }: EncodedJob, signal: AbortSignal | undefined): Promise<EnqueuedJob> {
    return new Promise((resolve, reject) => {
      const job: Pending = { text, hasKey, trace: traceHeaders(), resolve, reject };
      this.#waiting.push(signal ? this.#abortable(job, signal) : job);
      this.#flushSoon();
    });
  }

  /** Calls of the same turn of the event loop are sent together. */
  #flushSoon(): void {
    if (this.#flushes || this.#inFlight >= MAX_IN_FLIGHT) return;
    this.#flushes = true;
    queueMicrotask(() => {
      this.#flushes = false;
      while (this.#waiting.length > 0 && this.#inFlight < MAX_IN_FLIGHT) void this.#send(this.#takeBatch());
      if (this.#inFlight === 0) this.#onIdle();
    });
  }

  /**
   * Jobs with and without idempotency keys of their own are not mixed: in a mixed batch, all would cost the service as much as jobs with
   * keys.
   */
  #takeBatch(): Pending[] {
    const [first] = this.#waiting;
    const batch: Pending[] = [];
    let characters = 0;
    for (const job of this.#waiting) {
      if (job.hasKey !== first?.hasKey) continue;
      characters += job.text.length;
      if (batch.length > 0 && (characters > MAX_CHARACTERS || batch.length === MAX_JOBS)) break;
      batch.push(job);
    }
    const taken = new Set(batch);
    this.#waiting = batch.length === this.#waiting.length ? [] : this.#waiting.filter((job) => !taken.has(job));
    return batch;
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    this.#inFlight += 1;
    await this.#settle(batch);
    this.#inFlight -= 1;
    if (this.#waiting.length > 0) this.#flushSoon();
    else if (this.#inFlight === 0) this.#onIdle();
  }

  /** Never rejects. */
  async #settle(batch: readonly Pending[]): Promise<void> {
    try {
      const jobs = await sendJobs(this.#transport, { queue: this.#queue, jobs: batch, trace: sharedTrace(batch) });
      for (const [at, { resolve }] of batch.entries()) resolve(jobs[at] as EnqueuedJob);
    } catch (error) {
      await this.#settleRefused(batch, error);
    }
  }

  async #settleRefused(batch: readonly Pending[], error: unknown): Promise<void> {
    if (!(error instanceof TidemillError)) {
      for (const { reject } of batch) reject(error);
      return;
    }
    const { refused, again } = splitRefused(batch, error);
    for (const [at, own] of refused) batch[at]?.reject(own);
    await Promise.all(again.map((group) => this.#settle(group.map((at) => batch[at] as Pending))));
  }

  /** A job that is aborted while it waits is not sent. */
  #abortable(job: Pending, signal: AbortSignal): Pending {
    const abort = (): void => {
      this.#waiting = this.#waiting.filter((one) => one !== abortable);
      job.reject(signal.reason);
    };
    const end = (): void => signal.removeEventListener("abort", abort);
    const abortable = {
      ...job,
      resolve: (enqueued: EnqueuedJob) => {
        end();
        job.resolve(enqueued);
      },
      reject: (error: unknown) => {
        end();
        job.reject(error);
      },
    };
    signal.addEventListener("abort", abort, { once: true });
    return abortable;
  }
}

const NONE: TraceHeaders = {};

/** A batch continues a trace only if all of its jobs belong to it. */
function sharedTrace(jobs: readonly Pending[]): TraceHeaders {
  const trace = jobs[0]?.trace ?? NONE;
  return jobs.every((job) => job.trace === trace || job.trace.traceparent === trace.traceparent) ? trace : NONE;
}
