import type { Trace } from "./trace.ts";

/** The idempotency key of a job or a batch, and the fingerprint of what was sent with it. */
export interface Idempotency {
  readonly key: string;
  /** SHA-256 in hexadecimal. */
  readonly fingerprint: string;
}

/** A job as a caller sends it, validated. `null` stands for the queue's default. */
export interface NewJob {
  /** JSON text. */
  readonly payload: string;
  readonly delaySeconds: number;
  /** Milliseconds since 1970. Replaces `delaySeconds`. */
  readonly runAtMs: number | null;
  readonly tag: string | null;
  readonly priority: number;
  readonly concurrencyKey: string | null;
  readonly attempts: number | null;
  readonly backoffDelayMs: number | null;
  readonly idempotency: Idempotency | null;
  /** Null when the request that enqueues it has none, and for a job that a schedule creates. */
  readonly trace: Trace | null;
}
