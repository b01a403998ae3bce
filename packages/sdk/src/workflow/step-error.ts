import type { RunError } from "@tidemill/contract";
import { TidemillError } from "../error.ts";
import { HttpError, SignalTimeoutError, StepError } from "./errors.ts";
import { failureOf } from "./failure.ts";
import { invokeError } from "./invoke-errors.ts";
import type { Outcome } from "./journal.ts";

/** The service's name for the error of a wait that timed out. */
const SIGNAL_TIMEOUT = "SignalTimeoutError";
/** The service's name for the error of a call. */
const HTTP_ERROR = "HttpError";
/** A signal that is refused has the same error in `step.signal` and in `step.waitForSignal`. */
const SIGNAL_ERRORS: readonly unknown[] = ["SignalTakenError", "TooManySignalsError"];

/**
 * The error that the program gets for a failed step.
 *
 * @param thrown what the function of the step threw, if it failed in this execution. The error has its stack
 */
export function stepErrorOf(outcome: Outcome, thrown: unknown): StepError {
  const error = errorOf(outcome);
  const stack = stackOf(thrown);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** The stack of an error. It is made when it is read, which throws if the error does not tell its message. */
function stackOf(thrown: unknown): string | undefined {
  try {
    return thrown instanceof Error ? thrown.stack : undefined;
  } catch {
    return undefined;
  }
}

function errorOf({ key, type, error, output }: Outcome): StepError {
  const failure = error ?? { name: "Error", message: "" };
  if (type === "invoke") return invokeError(key, failure, output);
  if (type === "wait" && failure.name === SIGNAL_TIMEOUT) return new SignalTimeoutError(key, failure.message);
  return type === "http" && failure.name === HTTP_ERROR ? new HttpError(key, failure) : new StepError(key, failure);
}

/** The error of a step that the service has refused. */
export function refusalOf(error: unknown): RunError {
  const failure = failureOf(error);
  const reason = error instanceof TidemillError ? error.details.reason : undefined;
  return SIGNAL_ERRORS.includes(reason) ? { ...failure, name: String(reason) } : failure;
}
