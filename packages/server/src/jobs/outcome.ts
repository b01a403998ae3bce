import type { JobRow } from "./job.ts";
import type { InsertedJob } from "./store/insert.ts";

/** A job that was not stored, because the original has the same idempotency key. */
export interface Duplicate {
  readonly original: JobRow;
}

/** The outcome of a request: one entry per job, the error that refused it, or null when the queue does not exist. */
export type EnqueueOutcome = readonly (InsertedJob | Duplicate)[] | Error | null;
