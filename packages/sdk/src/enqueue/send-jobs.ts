import { pathOf } from "../api.ts";
import type { EnqueuedJob } from "../job.ts";
import type { CallOptions } from "../options.ts";
import type { TraceHeaders } from "../trace.ts";
import type { Transport } from "../transport.ts";
import { type EncodedJob, withKey } from "./encode-job.ts";

/** A request that enqueues jobs of one queue. */
export interface EnqueueRequest {
  readonly queue: string;
  readonly jobs: readonly EncodedJob[];
  /** Whether one job is sent as a job, and not as a batch of one. */
  readonly single?: boolean;
  readonly trace?: TraceHeaders;
}

/**
 * Enqueues jobs, all or none. Jobs without an idempotency key get one, so that a retry stores nothing twice.
 *
 * @returns the jobs in their order
 */
export async function sendJobs(
  transport: Transport,
  { queue, jobs, single = false, trace }: EnqueueRequest,
  call?: CallOptions,
): Promise<EnqueuedJob[]> {
  const id = crypto.randomUUID();
  const texts = jobs.map((job, at) => withKey(job, `${id}.${at}`));
  const [only] = texts;
  const isSingle = single && texts.length === 1 && only !== undefined;
  const request = {
    method: "POST" as const,
    path: isSingle ? pathOf("queues", queue, "jobs") : pathOf("queues", queue, "jobs", "batch"),
    body: isSingle ? only : `{"jobs":[${texts.join(",")}]}`,
    repeatable: true,
    ...(trace && { trace }),
  };
  const response = await transport.request(request, call);
  const enqueued = isSingle ? [response as EnqueuedJob] : (response as { jobs: EnqueuedJob[] }).jobs;
  // A job that is known by a generated key was stored by an earlier try of this call.
  for (const [at, job] of enqueued.entries()) if (!jobs[at]?.hasKey) delete job.duplicate;
  return enqueued;
}
