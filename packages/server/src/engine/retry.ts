import { type AttemptError, type LastError, LIMITS } from "@tidemill/contract";
import type { Claim } from "#jobs";

type UnsendableCode = Extract<AttemptError, "SECRET_NOT_FOUND" | "SECRET_NOT_ALLOWED" | "SECRET_UNREADABLE" | "TEMPLATE_INVALID">;

/** What came of an attempt. */
export type AttemptResult =
  | { readonly kind: "accepted"; readonly status: number; readonly result: string | null }
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly code: Extract<AttemptError, "HTTP_STATUS" | "REDIRECT">;
      readonly message: string;
      readonly retryAfterSeconds: number | null;
      /** No further attempt is wanted. */
      readonly forGood: boolean;
    }
  | {
      readonly kind: "unreachable";
      readonly code: Exclude<AttemptError, "HTTP_STATUS" | "REDIRECT" | UnsendableCode>;
      readonly message: string;
    }
  /** The request could not be built: nothing was sent, and nothing is known of the handler. */
  | { readonly kind: "unsendable"; readonly code: UnsendableCode; readonly message: string }
  /** What it needs could not be read: nothing was sent, and neither job nor handler is at fault. The job is tried again after that wait. */
  | { readonly kind: "postponed"; readonly waitMs: number }
  /** No result counts: the attempt was aborted, or the queue lost its callback_url after the claim. */
  | { readonly kind: "withdrawn" };

/** What becomes of the job. */
export type Verdict =
  | { readonly kind: "complete"; readonly status: number; readonly result: string | null }
  | { readonly kind: "retry"; readonly waitMs: number; readonly error: LastError }
  | { readonly kind: "fail"; readonly error: LastError }
  /** The attempt does not count: the circuit is open. With no wait the job just waits for its turn. */
  | { readonly kind: "hold"; readonly waitMs: number; readonly error: LastError }
  | { readonly kind: "giveBack"; readonly waitMs: number };

const MAX_WAIT_MS = 24 * 60 * 60 * 1000;
const JITTER = 0.2;

/**
 * A failed attempt is retried here: what its result means for its job. Source: contract §3 (backoff), §4 (Callback).
 *
 * @param fraction chance for the jitter, from 0 to 1
 * @param heldForMs when the circuit is open: how long the job is held; 0 just puts it back, more is never less than its backoff
 */
export function judge(
  result: AttemptResult,
  claim: Pick<Claim, "attempt" | "attempts" | "spared" | "backoffDelayMs">,
  fraction: number,
  heldForMs: number | null = null,
): Verdict {
  if (result.kind === "accepted") return { kind: "complete", status: result.status, result: result.result };
  if (result.kind === "withdrawn") return { kind: "giveBack", waitMs: 0 };
  if (result.kind === "postponed") return { kind: "giveBack", waitMs: result.waitMs };
  const error: LastError = { code: result.code, message: result.message, status: result.kind === "refused" ? result.status : null };
  const counted = claim.attempt - claim.spared;
  const notBeforeSeconds = result.kind === "refused" ? (result.retryAfterSeconds ?? 0) : 0;
  const notBeforeMs = Math.min(notBeforeSeconds, LIMITS.delaySeconds) * 1000;
  const waitMs = Math.max(backoffMs(claim.backoffDelayMs, counted, fraction), notBeforeMs);
  if (heldForMs !== null) return { kind: "hold", waitMs: heldForMs === 0 ? 0 : Math.min(Math.max(heldForMs, waitMs), MAX_WAIT_MS), error };
  const forGood = result.kind === "refused" && result.forGood;
  return forGood || counted >= claim.attempts ? { kind: "fail", error } : { kind: "retry", waitMs, error };
}

/** The wait after the `counted`th attempt: `delayMs * 2^(counted-1)`, plus up to a fifth of jitter, at most 24 hours. */
export function backoffMs(delayMs: number, counted: number, fraction: number): number {
  // Past 2^30 any wait is over the most, and at 2^1024 none of 0 ms would be a number.
  const plainMs = Math.min(delayMs * 2 ** Math.min(counted - 1, 30), MAX_WAIT_MS);
  return Math.min(Math.round(plainMs * (1 + JITTER * fraction)), MAX_WAIT_MS);
}

/**
 * Whether a result shows that its endpoint works. It does not when there was no answer, or a 5xx, which proxies give for dead servers; a
 * handler that can refuse a job, even for good, works. Null when nothing was sent.
 */
export function showsLife(result: AttemptResult): boolean | null {
  switch (result.kind) {
    case "accepted":
      return true;
    case "refused":
      return result.forGood || result.status < 500 || result.status > 599;
    case "unreachable":
      return false;
    default:
      return null;
  }
}
