import { type AttemptError, type LastError, LIMITS } from "@tidemill/contract";
import type { Claim } from "./claim.ts";

type UnsendableCode = Extract<AttemptError, "SECRET_NOT_FOUND" | "SECRET_NOT_ALLOWED" | "SECRET_UNREADABLE" | "TEMPLATE_INVALID">;

/** How somebody answered an attempt. */
export type Answer =
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
  /** It could not be made up: nothing was sent, and nothing is known of the handler. */
  | { readonly kind: "unsendable"; readonly code: UnsendableCode; readonly message: string }
  /** What it takes could not be read: nothing was sent, and nobody is to blame. The job is tried again after that wait. */
  | { readonly kind: "postponed"; readonly waitMs: number }
  /** Nobody's answer counts: the attempt was broken off, or the queue lost its handler's address after the claim. */
  | { readonly kind: "withdrawn" };

/** What becomes of the job. */
export type Verdict =
  | { readonly kind: "complete"; readonly status: number; readonly result: string | null }
  | { readonly kind: "retry"; readonly waitMs: number; readonly error: LastError }
  | { readonly kind: "fail"; readonly error: LastError }
  /** The attempt does not count: the circuit is open. With no wait the job just waits for its turn. */
  | { readonly kind: "hold"; readonly waitMs: number; readonly error: LastError }
  | { readonly kind: "giveBack"; readonly waitMs: number };

const MOST_WAIT_MS = 24 * 60 * 60 * 1000;
const JITTER = 0.2;

/**
 * A failed callback is retried here: what an answer makes of its job. Source: contract §3 (backoff), §4 (Callback).
 *
 * @param fraction chance for the jitter, from 0 to 1
 * @param heldForMs when the circuit is open: how long the job is held; 0 just puts it back, more is never less than its backoff
 */
export function judge(
  answer: Answer,
  claim: Pick<Claim, "attempt" | "attempts" | "spared" | "backoffDelayMs">,
  fraction: number,
  heldForMs: number | null = null,
): Verdict {
  if (answer.kind === "accepted") return { kind: "complete", status: answer.status, result: answer.result };
  if (answer.kind === "withdrawn") return { kind: "giveBack", waitMs: 0 };
  if (answer.kind === "postponed") return { kind: "giveBack", waitMs: answer.waitMs };
  const error: LastError = { code: answer.code, message: answer.message, status: answer.kind === "refused" ? answer.status : null };
  const counted = claim.attempt - claim.spared;
  const notBeforeSeconds = answer.kind === "refused" ? (answer.retryAfterSeconds ?? 0) : 0;
  const notBeforeMs = Math.min(notBeforeSeconds, LIMITS.delaySeconds) * 1000;
  const waitMs = Math.max(backoffMs(claim.backoffDelayMs, counted, fraction), notBeforeMs);
  if (heldForMs !== null) return { kind: "hold", waitMs: heldForMs === 0 ? 0 : Math.min(Math.max(heldForMs, waitMs), MOST_WAIT_MS), error };
  const forGood = answer.kind === "refused" && answer.forGood;
  return forGood || counted >= claim.attempts ? { kind: "fail", error } : { kind: "retry", waitMs, error };
}

/** The wait after the `counted`th attempt: `delayMs * 2^(counted-1)`, plus up to a fifth of jitter, at most 24 hours. */
export function backoffMs(delayMs: number, counted: number, fraction: number): number {
  // Past 2^30 any wait is over the most, and at 2^1024 none of 0 ms would be a number.
  const plainMs = Math.min(delayMs * 2 ** Math.min(counted - 1, 30), MOST_WAIT_MS);
  return Math.min(Math.round(plainMs * (1 + JITTER * fraction)), MOST_WAIT_MS);
}
