/** What a caller named a job by, and what it sent under that name. */
interface Idempotency {
  readonly key: string;
  /** SHA-256 in hexadecimal. */
  readonly fingerprint: string;
}

/** One job as a caller sends it, checked. `null` stands for the queue's default. */
export interface NewJob {
  /** JSON text. */
  readonly payload: string;
  readonly delaySeconds: number;
  /** Milliseconds since 1970; instead of `delaySeconds`. */
  readonly runAtMs: number | null;
  readonly tag: string | null;
  readonly priority: number;
  readonly concurrencyKey: string | null;
  readonly attempts: number | null;
  readonly backoffDelayMs: number | null;
  readonly idempotency: Idempotency | null;
}
