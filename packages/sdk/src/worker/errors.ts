import { type Duration, durationMs } from "../workflow/duration.ts";

/** Throw it in a handler to send the job to the dead-letter queue immediately, even if attempts are left. */
export class NonRetryableError extends Error {
  override readonly name: string = "NonRetryableError";
}

/** Throw it in a handler to delay the next attempt by at least this long. The job's backoff applies if it is longer. */
export class RetryAfterError extends Error {
  override readonly name: string = "RetryAfterError";
  readonly seconds: number;

  /**
   * @param after `{ seconds }`, a string such as "90s" or "1h", or milliseconds
   * @throws {TypeError} for anything else
   */
  constructor(message: string, after: Duration | { readonly seconds: number }) {
    super(message);
    this.seconds = secondsOf(after);
  }
}

function secondsOf(after: Duration | { readonly seconds: number }): number {
  if (typeof after === "number" || typeof after === "string") return durationMs("after", after) / 1_000;
  if (typeof after === "object" && after !== null && "seconds" in after) return after.seconds;
  throw new TypeError('A RetryAfterError needs a time: { seconds: 90 }, a string such as "90s" or "1h", or milliseconds.');
}

/**
 * Why a worker ends what it executes: `cancelled` by a caller, `lease_lost` to another worker, or the worker stops (`shutdown`). Over HTTP,
 * the time of the execution is over (`timed_out`), or the service has closed its connection (`disconnected`).
 */
export type AbortCause = "cancelled" | "lease_lost" | "shutdown" | "timed_out" | "disconnected";

/** Why the signal of a job or a run was aborted. */
export abstract class AbortedError extends Error {
  readonly why: AbortCause;

  constructor(kind: "job" | "run", why: AbortCause, message: string = MESSAGES[why](kind)) {
    super(message);
    this.why = why;
  }
}

/** Why the signal of a job was aborted. */
export class JobAbortedError extends AbortedError {
  override readonly name: string = "JobAbortedError";

  constructor(why: AbortCause) {
    super("job", why);
  }
}

const MESSAGES: Readonly<Record<AbortCause, (kind: string) => string>> = {
  cancelled: (kind) => `The ${kind} was cancelled.`,
  lease_lost: (kind) => `The worker's lease on the ${kind} ended: another worker may have it.`,
  shutdown: () => "The worker stops.",
  timed_out: (kind) => `The time for this execution of the ${kind} is over.`,
  disconnected: (kind) => `The service no longer waits for this execution of the ${kind}.`,
};
