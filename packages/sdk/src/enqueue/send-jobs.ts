import { pathOf } from "../api.ts";
import { TidemillError } from "../error.ts";
import type { EnqueuedJob } from "../job.ts";
import type { CallOptions } from "../options.ts";
import { ENQUEUED } from "../response-shapes.ts";
import type { TraceHeaders } from "../trace.ts";
import type { Transport } from "../transport.ts";
import { type EncodedJob, withKey } from "./encode-job.ts";
import { errorOf } from "./split-refused.ts";

/** A request that enqueues jobs of one queue. */
export interface EnqueueRequest {
  readonly queue: string;
  readonly jobs: readonly EncodedJob[];
  readonly trace?: TraceHeaders;
}

/**
 * Enqueues jobs, all or none, so that a retry stores nothing twice: the batch has an idempotency key. If jobs have keys of their own, all
 * get one instead, which costs the service more.
 *
 * @returns the jobs in their order
 */
export async function sendJobs(transport: Transport, { queue, jobs, trace }: EnqueueRequest, call?: CallOptions): Promise<EnqueuedJob[]> {
  const key = crypto.randomUUID();
  const haveKeys = jobs.some(({ hasKey }) => hasKey);
  const texts = jobs.map((job, at) => (haveKeys ? withKey(job, `${key}.${at}`) : job.text));
  const request = {
    method: "POST" as const,
    path: pathOf("queues", queue, "jobs", "batch"),
    headers: haveKeys ? {} : { "idempotency-key": key },
    body: `{"jobs":[${texts.join(",")}]}`,
    repeatable: true,
    shape: ENQUEUED,
    ...(trace && { trace }),
  };
  const { jobs: enqueued } = (await transport.request(request, call)) as { jobs: EnqueuedJob[] };
  if (enqueued.length !== jobs.length) {
    const message = `The response did not come from Tidemill: it has ${enqueued.length} jobs instead of ${jobs.length}.`;
    throw new TidemillError({ code: "UNEXPECTED_RESPONSE", message, status: 200 });
  }
  // What is known by a generated key was stored by an earlier try of this call.
  for (const [at, job] of enqueued.entries()) if (!jobs[at]?.hasKey) delete job.duplicate;
  return enqueued;
}

/** Enqueues one job. Errors name its fields as if it had been sent alone. */
export async function sendJob(transport: Transport, queue: string, job: EncodedJob, call?: CallOptions): Promise<EnqueuedJob> {
  try {
    return (await sendJobs(transport, { queue, jobs: [job] }, call))[0] as EnqueuedJob;
  } catch (error) {
    throw error instanceof TidemillError ? errorOf(error, 0) : error;
  }
}
