import { type ExecutionOutcome, LIMITS, type RunError } from "@tidemill/contract";
import type { AttemptResult } from "#engine";
import type { RawJson } from "#http";
import { cut, invalid, problem, type SlicedWork } from "#kernel";
import type { TextRedactor } from "#redaction";
import { keepResult } from "#redaction";
import {
  checkCallTemplates,
  isOfRun,
  keepProgress,
  type RunReport,
  readProgress,
  readSteps,
  redactError,
  redactSteps,
  type StepToInsert,
} from "#workflows";

/** How much of a job's error is kept. Characters. */
const MAX_MESSAGE = 1_000;
const UNSEARCHABLE = "The result of the run cannot be searched for the secrets of its input.";
const UNEXPLAINED = "The journal does not fit the code.";
const REDACTED = "What the worker reported is left out: it cannot be searched for secrets.";

const FIELDS: Readonly<Record<ExecutionOutcome["outcome"], readonly string[]>> = {
  completed: ["result", "steps", "progress"],
  failed: ["error", "error_name", "retry", "retry_in", "retry_steps", "steps", "progress"],
  suspended: ["steps", "progress"],
  unfit: ["step", "error", "progress"],
  released: ["retry_in", "progress"],
};

/** Fields that only some outcomes may have. */
const OPTIONAL = ["result", "error", "error_name", "retry", "retry_in", "retry_steps", "step", "steps", "progress"] as const;

/** Why a field is not allowed with this outcome, in words. */
export function invalidFieldOf(outcome: ExecutionOutcome): string | null {
  const allowed = FIELDS[outcome.outcome];
  const extra = OPTIONAL.find((name) => outcome[name] !== undefined && !allowed.includes(name));
  if (extra) return `${extra} is not allowed with the outcome "${outcome.outcome}".`;
  return outcome.outcome === "unfit" && outcome.step === undefined ? `step is required with the outcome "unfit".` : null;
}

const cutError = ({ name, message }: RunError): RunError => ({ name, message: cut(message, LIMITS.workerErrorLength) });

/** The result that the outcome has, as JSON text. Null: none. */
export const resultText = ({ result }: ExecutionOutcome): string | null => (result as RawJson | undefined)?.text ?? null;

/** What a run returns can be the input of another run, like the output of a step. */
const maxResultBytes = (kind: string): number => (kind === "run" ? LIMITS.payloadBytes : LIMITS.resultBytes);

/**
 * What is wrong with the size of a result, in words.
 *
 * @param kind of the job whose limit applies
 */
export function tooLarge(kind: "job" | "run", result: string | null): string | null {
  const [bytes, max] = [result === null ? 0 : Buffer.byteLength(result), maxResultBytes(kind)];
  return bytes > max ? `The result has ${bytes} bytes; the limit is ${max} bytes.` : null;
}

/** What is reported together with an outcome, as it is stored. */
export interface Reported {
  readonly steps: readonly StepToInsert[];
  /** JSON text. */
  readonly progress: string | null;
}

/**
 * Reads what is reported together with an outcome. Steps that wait are only for a run that is suspended.
 *
 * @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE
 */
export function readReported({ outcome, steps = [], progress }: ExecutionOutcome): Reported {
  const waiting = outcome === "suspended" ? -1 : steps.findIndex(({ status }) => status === "waiting");
  if (waiting >= 0) throw invalid(`steps[${waiting}].status`, `must not be waiting with the outcome "${outcome}"`);
  return { steps: readSteps(steps, "steps"), progress: progress === undefined ? null : readProgress(progress) };
}

/** The program that reports an outcome. */
interface ReportingProgram {
  /** Removes secrets from what is kept. Null when there are none. */
  readonly redactor: TextRedactor | null;
  /** Version of its code, if it has one that other workers may poll with. */
  readonly version: string | null;
}

/** What the program wrote, without secrets. */
function* keptText(text: string, redactor: TextRedactor | null): SlicedWork<string> {
  return redactor ? ((yield* redactor.text(text)) ?? REDACTED) : text;
}

/** The keys that contain no secrets. No step is stored under any other key. */
function* withoutSecrets(keys: readonly string[], redactor: TextRedactor | null): SlicedWork<readonly string[]> {
  if (!redactor) return keys;
  const kept: string[] = [];
  for (const key of keys) if ((yield* redactor.text(key)) === key) kept.push(key);
  return kept;
}

/**
 * What an outcome means for its attempt.
 *
 * @param kind of the job
 * @param reported as `readReported` returns it
 * @param from the reporting program, and the secrets that it got
 * @throws PAYLOAD_TOO_LARGE for a step, or the result of a run, that cannot be searched for secrets; VALIDATION_ERROR for a template of a call
 */
export function* readOutcome(
  kind: string,
  outcome: ExecutionOutcome,
  reported: Reported,
  { redactor, version }: ReportingProgram,
): SlicedWork<AttemptResult> {
  const { error, error_name = "Error", retry, retry_in, retry_steps, step = "" } = outcome;
  const progress = reported.progress === null ? null : yield* keepProgress(reported.progress, redactor);
  const said = progress !== null && { progress };
  const reportOf = (report: RunReport) => isOfRun({ kind }) && { report: JSON.stringify({ ...report, ...said }) };
  if (outcome.outcome === "released") return retry_in ? { kind: "postponed", waitMs: retry_in * 1_000 } : { kind: "withdrawn" };
  yield* checkCallTemplates(reported.steps);
  const steps = yield* redactSteps(reported.steps, redactor);
  if (outcome.outcome === "suspended") return { kind: "suspended", report: JSON.stringify({ steps, ...said } satisfies RunReport) };
  if (outcome.outcome === "unfit") {
    const reason = cut(yield* keptText(error ?? UNEXPLAINED, redactor), LIMITS.workerErrorLength);
    const unfit = { step: yield* keptText(step, redactor), reason, version };
    return { kind: "suspended", report: JSON.stringify({ unfit, ...said } satisfies RunReport) };
  }
  if (outcome.outcome === "completed") {
    const result = resultText(outcome);
    const kept = result === null ? null : yield* keepResult(result, redactor, maxResultBytes(kind));
    if (kept === null && result !== null && kind === "run") throw problem("PAYLOAD_TOO_LARGE", {}, { message: UNSEARCHABLE });
    return { kind: "accepted", status: null, result: kept, ...reportOf({ steps }) };
  }
  const message = error ?? "The worker reported no error.";
  const kept = yield* keptText(message, redactor);
  return {
    kind: "workerFailed",
    code: "WORKER_FAILED",
    message: cut(kept, MAX_MESSAGE),
    retryAfterSeconds: retry_in ?? null,
    forGood: retry === false,
    ...reportOf({
      steps,
      error: cutError(yield* redactError({ name: error_name, message }, redactor)),
      ...(retry_steps && { retrySteps: yield* withoutSecrets(retry_steps, redactor), repeats: retry === true }),
    }),
  };
}
