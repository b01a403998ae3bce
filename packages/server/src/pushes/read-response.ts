import { ExecutionOutcome, LIMITS } from "@tidemill/contract";
import { classify } from "#callbacks";
import type { AttemptResult } from "#engine";
import { compileCheck, JsonBodyError, parseJsonBody } from "#http";
import { ProblemError, type SlicedWork } from "#kernel";
import type { Response } from "#outbound";
import type { TextRedactor } from "#redaction";
import { invalidFieldOf, readOutcome, readReported, resultText, tooLarge } from "#workers";
import type { RunReport } from "#workflows";

/** An execution that was released, and has stored nothing, is sent again after this. Milliseconds. */
const RELEASED_MS = 1_000;

/** Statuses that say of the request itself that it was refused: nothing was executed. */
const REFUSES_REQUEST = new Set([401, 403, 404, 405]);

const faultOf = compileCheck(ExecutionOutcome);

/**
 * What the response of an endpoint means for the execution. A response that is not a valid outcome is a failed execution.
 *
 * @param kind of the job
 * @param redactor removes secrets from what is kept; null when the input has none
 */
export function* readResponse(kind: string, response: Response, nowMs: number, redactor: TextRedactor | null): SlicedWork<AttemptResult> {
  if (response.kind === "failed" || response.status < 200 || response.status > 299)
    return refusedBefore(yield* classify(response, nowMs, redactor));
  const { body } = response;
  if (!body) return invalidOutcome(kind, `The response is not a valid outcome: it exceeds ${LIMITS.outcomeBytes} bytes.`);
  try {
    const outcome = (yield* parseJsonBody(body, { maxDepth: LIMITS.jsonDepth, rawMember: "result" })) as ExecutionOutcome;
    const fault = faultOf(outcome)?.message ?? invalidFieldOf(outcome) ?? notAllowedFor(kind, outcome);
    if (fault) return invalidOutcome(kind, `The response is not a valid outcome: ${fault}`);
    // A response may be smaller than the call of a worker.
    const oversize = kind === "run" ? tooLarge("job", resultText(outcome)) : null;
    if (oversize) {
      const failed = { outcome: "failed", error: oversize, error_name: "ResultTooLargeError", retry: false } as const;
      return yield* readOutcome(kind, failed, readReported(outcome), { redactor, version: null });
    }
    if (outcome.outcome === "released") {
      const waitMs = (outcome.retry_in ?? 0) * 1_000;
      return waitMs > 0 ? { kind: "postponed", waitMs, released: "later" } : { kind: "postponed", waitMs: RELEASED_MS, released: "soon" };
    }
    // The code at the endpoint counts as code without a version.
    return yield* readOutcome(kind, outcome, readReported(outcome), { redactor, version: null });
  } catch (error) {
    if (error instanceof JsonBodyError || error instanceof ProblemError)
      return invalidOutcome(kind, `The response is not a valid outcome: ${error.message}`);
    throw error;
  }
}

const refusedBefore = (result: AttemptResult): AttemptResult =>
  result.kind === "refused" && REFUSES_REQUEST.has(result.status) && !result.forGood ? { ...result, unbegun: true } : result;

/** Why a field that only runs may have is not allowed for a hook or an undo, in words. */
function notAllowedFor(kind: string, { outcome, error_name, steps }: ExecutionOutcome): string | null {
  if (kind === "run") return null;
  if (outcome === "suspended" || outcome === "unfit") return `The outcome ${outcome} is only for runs that have not ended.`;
  if (kind === "undo") return steps?.every(({ type }) => type === "undo") === false ? "steps may only be undos: the run has ended." : null;
  return error_name === undefined ? null : "error_name is only for runs.";
}

const invalidOutcome = (kind: string, message: string): AttemptResult => ({
  kind: "workerFailed",
  code: "WORKER_FAILED",
  message,
  retryAfterSeconds: null,
  forGood: false,
  ...(kind === "run" && { report: JSON.stringify({ error: { name: "InvalidOutcomeError", message } } satisfies RunReport) }),
});
