import type { RunError, RunStep, StepType } from "@tidemill/contract";
import { type AbortCause, AbortedError, NonRetryableError } from "../worker/errors.ts";

type StepFailure = NonNullable<RunStep["error"]>;

/**
 * A step failed. `name` and `message` are those of the error that the step threw, even if the failure is remembered. The messages of its
 * causes follow: `fetch failed [cause]: connect ECONNREFUSED 127.0.0.1:80`.
 */
export class StepError extends Error {
  /** Key of the step. */
  readonly step: string;

  constructor(step: string, { name, message }: RunError) {
    super(message);
    this.name = name;
    this.step = step;
  }
}

/** A signal was not completed before the timeout of the wait. */
export class SignalTimeoutError extends StepError {
  constructor(step: string, message: string) {
    super(step, { name: "SignalTimeoutError", message });
  }
}

/** A call that the service made for a step got no response with a status from 200 to 299. */
export class HttpError extends StepError {
  /** Status of the last response; null when there was none. */
  readonly status: number | null;
  /** What went wrong with the last attempt, for example HTTP_STATUS, TIMEOUT, DNS or SECRET_NOT_FOUND. */
  readonly code: string;

  constructor(step: string, { message, status = null, code = "HTTP_STATUS" }: Omit<StepFailure, "name">) {
    super(step, { name: "HttpError", message });
    this.status = status;
    this.code = code;
  }
}

/** An attempt of a step took longer than its `timeout`. */
export class StepTimeoutError extends Error {
  override readonly name: string = "StepTimeoutError";

  constructor(step: string, ms: number) {
    super(`Step "${step}" took longer than ${Math.round(ms)} ms.`);
  }
}

/** A step whose result is no longer needed: another one won its race, or the run has ended. */
export class StepCancelledError extends Error {
  override readonly name: string = "StepCancelledError";

  constructor(step: string) {
    super(`Step "${step}" was cancelled: its result is no longer needed.`);
  }
}

/**
 * A name is used twice at the same time, so that a replay could not tell which outcome is whose. Fails the run for good: it cannot be
 * caught.
 */
export class DuplicateStepError extends NonRetryableError {
  override readonly name: string = "DuplicateStepError";

  constructor(name: string) {
    super(`Step "${name}" is used again before it has ended. Give each use a key of its own, for example { key: user.id }.`);
  }
}

/**
 * A step was called with arguments that steps cannot have, such as a sleep of two years. Fails the run for good, unless the workflow
 * catches it.
 */
export class InvalidStepError extends NonRetryableError {
  override readonly name: string = "InvalidStepError";

  constructor(name: string, error: Error) {
    super(`Step ${JSON.stringify(name)}: ${error.message}`, { cause: error });
  }
}

/** The function of a step called another step, which a replay could not remember. Fails the run for good. */
export class NestedStepError extends NonRetryableError {
  override readonly name: string = "NestedStepError";

  constructor(inner: string, outer: string) {
    super(
      `Step "${inner}" was called inside step "${outer}". Steps cannot contain steps: call it after step "${outer}", or do its work in the function of "${outer}" without a step.`,
    );
  }
}

/**
 * `step.race` got something that it cannot cancel. Fails the run for good in tests and in development (`replayEachStep`). Elsewhere the
 * race continues.
 */
export class RaceError extends NonRetryableError {
  override readonly name: string = "RaceError";

  /** @param names what cannot be cancelled, by its names in the race */
  constructor(names: readonly string[]) {
    const what = names.map((name) => `"${name}"`).join(", ");
    super(
      `step.race cannot cancel ${what}: what an async function or Promise.all has started goes on after it loses. Pass the steps themselves, or use Promise.race, which cancels nothing.`,
    );
  }
}

/** The journal of a run is full. Fails the run for good. */
export class JournalTooLargeError extends NonRetryableError {
  override readonly name: string = "JournalTooLargeError";
}

/** The journal of a run does not fit the code: the code has changed since, or it is not deterministic. */
export class JournalMismatchError extends Error {
  override readonly name: string = "JournalMismatchError";
  /** Key of the step that does not fit. */
  readonly step: string;

  constructor(step: string, message: string) {
    super(message);
    this.step = step;
  }

  static otherType(step: string, remembered: StepType, asked: StepType): JournalMismatchError {
    const message = `The journal has step "${step}" as a ${remembered} step, but the code uses it as a ${asked} step.`;
    return new JournalMismatchError(step, `${message} ${ADVICE}`);
  }

  static threwBefore(step: string, { name, message }: RunError): JournalMismatchError {
    const what = `The journal has step "${step}", but the code throws before it reaches it: ${name}: ${message}${/[.!?]$/.test(message) ? "" : "."}`;
    return new JournalMismatchError(step, `${what} ${ADVICE}`);
  }

  /** @param unknown the first step that the code requests and the journal does not have */
  static neverReached(step: string, unknown?: string): JournalMismatchError {
    const other = unknown === undefined ? "" : ` It requests "${unknown}", which the journal does not have.`;
    return new JournalMismatchError(step, `The journal has step "${step}", but the code does not reach it.${other} ${ADVICE}`);
  }

  static cancelled(step: string): JournalMismatchError {
    return new JournalMismatchError(step, `The journal has step "${step}" as cancelled, but the code waits for it. ${ADVICE}`);
  }
}

/**
 * A workflow did something else in a replay of its own journal (`replayEachStep`). Fails the run for good, so that it is noticed in
 * development.
 */
export class NondeterminismError extends NonRetryableError {
  override readonly name: string = "NondeterminismError";
  /** Key of the step that differs; null if the result does. */
  readonly step: string | null;

  constructor(step: string | null, difference: string) {
    super(`The workflow is not deterministic. ${difference} ${REMEDY}`);
    this.step = step;
  }
}

/** How many steps a message names. */
const MAX_NAMED = 5;

/**
 * A workflow returned without awaiting all of its steps. In development (`replayEachStep`) and in `testWorkflow` this fails the run for
 * good. Otherwise it is a warning in the worker's log.
 */
export class UnawaitedStepError extends NonRetryableError {
  override readonly name: string = "UnawaitedStepError";
  /** Keys of the steps. */
  readonly steps: readonly string[];

  constructor(steps: readonly string[]) {
    const named = steps.slice(0, MAX_NAMED).map((key) => JSON.stringify(key));
    const more = steps.length > MAX_NAMED ? ` and ${steps.length - MAX_NAMED} more` : "";
    super(
      `The workflow returned and did not await ${steps.length === 1 ? "step" : "steps"} ${named.join(", ")}${more}. A step that is not ` +
        "awaited might never be executed, and its failure is lost. Put await before it, or await several steps with Promise.all.",
    );
    this.steps = steps;
  }
}

const REMEDY =
  "Code whose result differs from call to call belongs in a step. For the time, random numbers and ids, use run.now(), run.random() and run.uuid().";
const ADVICE =
  "If the code has changed, keep the steps of runs in progress, and put new code behind run.patched(name). If not, the code depends on " +
  "more than its input and the outcomes of steps.";

/** Why the signal of a step was aborted. */
export class RunAbortedError extends AbortedError {
  override readonly name: string = "RunAbortedError";

  constructor(why: AbortCause, message?: string) {
    super("run", why, message);
  }
}
