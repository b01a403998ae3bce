import { type AttemptError, type LastError, LIMITS } from "@tidemill/contract";
import type { Claim } from "#jobs";

type UnsendableCode = Extract<AttemptError, "SECRET_NOT_FOUND" | "SECRET_NOT_ALLOWED" | "SECRET_UNREADABLE" | "TEMPLATE_INVALID">;

/** The result of an attempt. */
export type AttemptResult =
  | { readonly kind: "accepted"; readonly status: number | null; readonly result: string | null; readonly report?: string }
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly code: Extract<AttemptError, "HTTP_STATUS" | "REDIRECT">;
      readonly message: string;
      readonly retryAfterSeconds: number | null;
      /** The handler wants no further attempt. */
      readonly forGood: boolean;
      /** The program has certainly not begun: it, or what is in front of it, has refused the request itself. */
      readonly unbegun?: true;
      /** As for an endpoint that could not be reached. */
      readonly advanced?: true;
      readonly report?: string;
    }
  /** The program that executes the job reported that the attempt failed. */
  | {
      readonly kind: "workerFailed";
      readonly code: "WORKER_FAILED";
      readonly message: string;
      readonly retryAfterSeconds: number | null;
      /** The program wants no further attempt. */
      readonly forGood: boolean;
      readonly report?: string;
    }
  /** An attempt failed. That says nothing about an endpoint of the lane, because the lane's jobs go to many endpoints. */
  | {
      readonly kind: "callFailed";
      readonly code: AttemptError;
      readonly message: string;
      readonly status: number | null;
      readonly retryAfterSeconds: number | null;
      /** Another attempt would fail, too. */
      readonly forGood: boolean;
    }
  /** The job waits for what its report says. Its kind sets when it is due. */
  | { readonly kind: "suspended"; readonly report: string }
  | {
      readonly kind: "unreachable";
      readonly code: Exclude<AttemptError, "HTTP_STATUS" | "REDIRECT" | "WORKER_FAILED" | UnsendableCode>;
      readonly message: string;
      /** Nothing of the request can have arrived: no connection was made. */
      readonly unbegun?: true;
      /** The program has stored steps during the attempt: the next one continues after them. */
      readonly advanced?: true;
      readonly report?: string;
    }
  /** The request could not be built. Nothing was sent, so nothing is known about the handler. */
  | { readonly kind: "unsendable"; readonly code: UnsendableCode; readonly message: string; readonly report?: string }
  /**
   * What the request needs could not be read, or the node could not send it. The job is tried again after the wait; neither it nor the
   * handler is at fault. `shortage` says that the node lacks descriptors or memory: it claims no jobs during the wait, because nothing
   * else could be sent either.
   */
  | {
      readonly kind: "postponed";
      readonly waitMs: number;
      readonly shortage?: true;
      /** The program released the job: after the wait that it named, or soon, which is at once if the attempt has advanced. */
      readonly released?: "later" | "soon";
    }
  /** There is no result: the attempt was aborted, or the queue lost its callback_url after the claim. */
  | { readonly kind: "withdrawn" };

/** What happens to the job. `report` is for its kind, which stores it in the transaction of the settle. */
export type Verdict =
  | { readonly kind: "complete"; readonly status: number | null; readonly result: string | null; readonly report?: string }
  | { readonly kind: "retry"; readonly waitMs: number; readonly error: LastError; readonly report?: string }
  | { readonly kind: "fail"; readonly error: LastError; readonly report?: string }
  /**
   * The attempt is spared: the circuit is open, its program cannot have begun, or it has advanced. With a wait of 0 the job returns to
   * `waiting`.
   */
  | { readonly kind: "defer"; readonly waitMs: number; readonly error: LastError; readonly report?: string }
  | { readonly kind: "release"; readonly waitMs: number; readonly report?: string };

const MAX_WAIT_MS = 24 * 60 * 60 * 1000;
/** The longest wait after an attempt that is spared because no connection was made. */
const MAX_SPARED_WAIT_MS = 10_000;
/**
 * The waits after an attempt that is spared because its request was refused. They grow: others may be accepted, so that no circuit opens,
 * and the job may be the cause.
 */
const [MIN_REFUSED_WAIT_MS, MAX_REFUSED_WAIT_MS] = [1_000, 60_000];
const JITTER = 0.2;
/** A shorter delay counts as this one: 0 would double to 0, and a job could use all of its attempts in one moment. */
const MIN_DELAY_MS = 10;

/** How long the job is delayed. Milliseconds; null when it is not. */
export const delayOf = (verdict: Verdict): number | null => {
  const waitMs = "waitMs" in verdict ? verdict.waitMs : 0;
  return verdict.kind === "retry" || waitMs > 0 ? waitMs : null;
};

/**
 * Whether the job is released and may be due immediately. This includes a job that waits for what its report says: if it is due later, its
 * kind says so.
 */
export const mayBeDue = (verdict: Verdict): boolean =>
  verdict.kind === "release" && (delayOf(verdict) === null || verdict.report !== undefined);

export interface JudgeOptions {
  /** Whether an attempt that may have begun is not repeated, even if the circuit is open (`JobKind`). */
  readonly once?: boolean | undefined;
  /** Whether an attempt is spared if its program cannot have begun (`JobKind`). */
  readonly sparesUnbegun?: boolean | undefined;
  /**
   * How long an open circuit keeps the job waiting, but never less than its backoff. An attempt that is spared because its program
   * cannot have begun waits for 10 s at most: its job cannot be the cause. 0: the job returns to `waiting`. Null: the circuit is closed.
   */
  readonly heldForMs?: number | null;
}

/**
 * Decides what the result of an attempt means for its job. This is where failed attempts are retried. Source: contract §3 (backoff),
 * §4 (Callback).
 *
 * @param fraction a random number from 0 to 1, for the jitter
 */
export function judge(
  result: AttemptResult,
  claim: Pick<Claim, "attempt" | "attempts" | "spared" | "backoffDelayMs">,
  fraction: number,
  { once = false, sparesUnbegun = false, heldForMs = null }: JudgeOptions = {},
): Verdict {
  const report = "report" in result && result.report !== undefined ? { report: result.report } : {};
  if (result.kind === "accepted") return { kind: "complete", status: result.status, result: result.result, ...report };
  if (result.kind === "withdrawn") return { kind: "release", waitMs: 0 };
  if (result.kind === "suspended") return { kind: "release", waitMs: MAX_WAIT_MS, ...report };
  if (result.kind === "postponed") return { kind: "release", waitMs: result.waitMs };
  const error: LastError = { code: result.code, message: result.message, status: "status" in result ? result.status : null };
  const counted = claim.attempt - claim.spared;
  const notBeforeSeconds = "retryAfterSeconds" in result ? (result.retryAfterSeconds ?? 0) : 0;
  const notBeforeMs = Math.min(notBeforeSeconds, LIMITS.delaySeconds) * 1000;
  const waitMs = Math.max(backoffMs(claim.backoffDelayMs, counted, fraction), notBeforeMs);
  const isUnbegun = "unbegun" in result && result.unbegun === true;
  const isSpared = isUnbegun && sparesUnbegun && result.code !== "BLOCKED_ADDRESS";
  const mayRepeat = !once || result.kind === "unsendable" || isUnbegun;
  const maxWaitMs = isSpared ? MAX_SPARED_WAIT_MS : MAX_WAIT_MS;
  if (heldForMs !== null && mayRepeat)
    return { kind: "defer", waitMs: heldForMs === 0 ? 0 : Math.min(Math.max(heldForMs, waitMs), maxWaitMs), error, ...report };
  if (isSpared && result.kind === "refused") {
    const growingMs = backoffMs(Math.max(claim.backoffDelayMs, MIN_REFUSED_WAIT_MS), claim.attempt, fraction);
    return { kind: "defer", waitMs: Math.min(growingMs, MAX_REFUSED_WAIT_MS), error, ...report };
  }
  if (isSpared) return { kind: "defer", waitMs: Math.min(waitMs, maxWaitMs), error, ...report };
  // This cannot go on for ever: a journal has room for so many steps.
  if ("advanced" in result && result.advanced) return { kind: "defer", waitMs, error, ...report };
  const forGood = !mayRepeat || ("forGood" in result && result.forGood);
  return forGood || counted >= claim.attempts ? { kind: "fail", error, ...report } : { kind: "retry", waitMs, error, ...report };
}

/**
 * The wait after the `counted`th attempt: `delayMs`, but at least 10, times `2^(counted-1)`, plus up to a fifth of jitter, at most
 * 24 hours.
 */
export function backoffMs(delayMs: number, counted: number, fraction: number): number {
  const plainMs = Math.min(Math.max(delayMs, MIN_DELAY_MS) * 2 ** (counted - 1), MAX_WAIT_MS);
  return Math.min(Math.round(plainMs * (1 + JITTER * fraction)), MAX_WAIT_MS);
}

/**
 * Whether a result shows that its endpoint works. A program that has stored steps works. Otherwise, no response or a 5xx status means that
 * it does not: proxies send those for dead servers. Nor does a program that refuses the request itself. A handler that refuses a job
 * works, even if it refuses the job for good. So does a program that reports an outcome or releases the job. Null when nothing was sent.
 */
export function showsLife(result: AttemptResult): boolean | null {
  switch (result.kind) {
    case "accepted":
    case "workerFailed":
    case "suspended":
      return true;
    case "refused":
      return result.advanced === true || result.forGood || (!result.unbegun && (result.status < 500 || result.status > 599));
    case "unreachable":
      return result.code === "NODE_LOST" ? null : result.advanced === true;
    case "postponed":
      return result.released ? true : null;
    default:
      return null;
  }
}
