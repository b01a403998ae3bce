import type * as contract from "@tidemill/contract";
import type { EnqueueOptions } from "./delays.ts";

type Typed<Record, Payload> = Omit<Record, "payload"> & { payload: Payload };

/** A job, with the type of its queue's payloads. */
export type Job<Payload = unknown> = Typed<contract.Job, Payload>;

/** A job with one entry per attempt that has ended. */
export type JobWithLog<Payload = unknown> = Typed<contract.JobWithLog, Payload>;

/**
 * A job that was enqueued. With `duplicate`, it had been enqueued before with the same idempotency key, and is returned in its current
 * state.
 */
export type EnqueuedJob<Payload = unknown> = Job<Payload> & { duplicate?: true };

/** A job of `enqueueMany`. */
export type NewJob<Payload> = EnqueueOptions & { payload: Payload };
