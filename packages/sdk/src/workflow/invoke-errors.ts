import type { RunError } from "@tidemill/contract";
import { StepError } from "./errors.ts";

/** A run that a step has invoked has not completed. */
abstract class InvokeError extends StepError {
  /** The run that the step has invoked. */
  readonly runId: string;

  constructor(step: string, error: RunError, runId: string) {
    super(step, error);
    this.runId = runId;
  }
}

/** The run that a step has invoked has failed. */
export class WorkflowFailedError extends InvokeError {}

/** The run that a step has invoked did not end before the step's timeout. The run continues. */
export class WorkflowTimeoutError extends InvokeError {}

/** The run that a step has invoked was cancelled, or deleted with its workflow. */
export class WorkflowCancelledError extends InvokeError {}

const ERRORS = { WorkflowFailedError, WorkflowTimeoutError, WorkflowCancelledError } as const;

/**
 * The error of a step that has invoked a run, made from what the service has stored. If no run was started, it is like that of any other
 * step.
 */
export function invokeError(step: string, error: RunError, output: unknown): StepError {
  const { runId } = (output ?? {}) as { readonly runId?: string };
  const Made = Object.hasOwn(ERRORS, error.name) ? ERRORS[error.name as keyof typeof ERRORS] : null;
  return Made && runId !== undefined ? new Made(step, error, runId) : new StepError(step, error);
}
