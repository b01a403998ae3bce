import type * as contract from "@tidemill/contract";
import { type Logger, withFields } from "./logger.ts";

type Taken = Omit<contract.TakenJob, "payload" | "lease_token" | "lease_expires_at">;

/** A job as its handler gets it. */
export interface WorkerJob<Payload = unknown> extends Taken {
  readonly payload: Payload;
  /** Aborted with a `JobAbortedError` when the job is cancelled, when its lease is lost, or when the worker stops. */
  readonly signal: AbortSignal;
  /** Logs with the job's id, queue and attempt. */
  readonly log: Logger;
}

export function workerJob<Payload>(taken: contract.TakenJob, payload: Payload, signal: AbortSignal, logger: Logger): WorkerJob<Payload> {
  const { lease_token: _token, lease_expires_at: _expiry, ...job } = taken;
  return { ...job, payload, signal, log: withFields(logger, { job: job.id, queue: job.queue, attempt: job.attempt }) };
}
