import { type ExecutionOutcome, LIMITS } from "@tidemill/contract";
import type { AttemptResult } from "#engine";
import type { RawJson } from "#http";
import { cut, type SlicedWork } from "#kernel";
import { keepResult } from "#redaction";
import { readSteps } from "#workflows";
import type { ReportRedactor } from "./held-jobs.ts";

/** Characters of an error's message that are kept. */
const MAX_MESSAGE = 1_000;
const REDACTED = "What the worker reported is left out: it cannot be searched for secrets.";

const FIELDS: Readonly<Record<ExecutionOutcome["outcome"], readonly string[]>> = {
  completed: ["result"],
  failed: ["error", "error_name", "retry", "retry_in"],
  suspended: ["steps"],
  released: [],
};

/** A field that the outcome does not go with, in words. */
export function misfitOf({ outcome, result, error, error_name, retry, retry_in, steps }: ExecutionOutcome): string | null {
  const given = { result, error, error_name, retry, retry_in, steps };
  const allowed = FIELDS[outcome];
  const [extra] = Object.entries(given).filter(([name, value]) => value !== undefined && !allowed.includes(name));
  return extra ? `${extra[0]} is not allowed with the outcome "${outcome}".` : null;
}

/** The result that the outcome has, as JSON text. Null: none. */
export const resultText = ({ result }: ExecutionOutcome): string | null => (result as RawJson | undefined)?.text ?? null;

/** What is wrong with the size of a result, in words. */
export const tooLarge = (result: string | null): string | null =>
  result !== null && Buffer.byteLength(result) > LIMITS.resultBytes ? `The result exceeds ${LIMITS.resultBytes} bytes.` : null;

/**
 * What an outcome means for its attempt.
 *
 * @param kind of the job
 * @param redactor takes secrets out of what is kept; null when there are none
 * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE for a step
 */
export function* readOutcome(kind: string, reported: ExecutionOutcome, redactor: ReportRedactor | null): SlicedWork<AttemptResult> {
  const { outcome, error, error_name = "Error", retry, retry_in, steps = [] } = reported;
  if (outcome === "released") return { kind: "withdrawn" };
  if (outcome === "suspended") return { kind: "suspended", report: JSON.stringify({ outcome, steps: readSteps(steps, "steps") }) };
  if (outcome === "completed") {
    const result = resultText(reported);
    return { kind: "accepted", status: null, result: result === null ? null : yield* keepResult(result, redactor) };
  }
  const message = error ?? "The worker reported no error.";
  const kept = redactor ? ((yield* redactor.text(message)) ?? REDACTED) : message;
  return {
    kind: "workerFailed",
    code: "WORKER_FAILED",
    message: cut(kept, MAX_MESSAGE),
    retryAfterSeconds: retry_in ?? null,
    forGood: retry === false,
    ...(kind === "run" && { report: JSON.stringify({ outcome, error: { name: error_name, message } }) }),
  };
}
