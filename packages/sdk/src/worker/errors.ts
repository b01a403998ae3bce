/** Thrown by a handler: the job goes to the dead-letter queue at once, whatever attempts are left. */
export class NonRetryableError extends Error {
  override readonly name: string = "NonRetryableError";
}

/** Thrown by a handler: the next attempt comes after this long at the earliest. The job's backoff applies if it is longer. */
export class RetryAfterError extends Error {
  override readonly name: string = "RetryAfterError";
  readonly seconds: number;

  constructor(message: string, { seconds }: { readonly seconds: number }) {
    super(message);
    this.seconds = seconds;
  }
}

/** Why the signal of a job was aborted: `cancelled` by a caller, `lease_lost` to another worker, or the worker stops (`shutdown`). */
export class JobAbortedError extends Error {
  override readonly name: string = "JobAbortedError";
  readonly why: "cancelled" | "lease_lost" | "shutdown";

  constructor(why: JobAbortedError["why"]) {
    super(MESSAGES[why]);
    this.why = why;
  }
}

const MESSAGES = {
  cancelled: "The job was cancelled.",
  lease_lost: "The worker's lease on the job ended: another worker may have it.",
  shutdown: "The worker stops.",
};
