import type { ReportedStep, RunError, TakenRun } from "@tidemill/contract";
import { UNDO_BEGUN, undoKey } from "@tidemill/contract/journal";
import { momentText } from "../clock.ts";
import { attemptStep } from "./attempt-step.ts";
import type { StepContext } from "./context.ts";
import { copyOf } from "./copy-of.ts";
import { JournalMismatchError } from "./errors.ts";
import type { End, Execution } from "./execution.ts";
import { failureOf } from "./failure.ts";
import { isLeaseLost } from "./lease-lost.ts";
import type { RunOutcome } from "./run-outcome.ts";
import { idempotencyKey, undoBegun } from "./undo.ts";

/**
 * Undoes the steps of a run that has ended, or that an earlier execution has begun to undo. If the program threw before it reached all of
 * them, none is undone: it may reach them in another execution. Never rejects.
 */
export async function undoRun(execution: Execution, run: TakenRun, end: End): Promise<RunOutcome> {
  const begun = undoBegun(execution.journal);
  if (
    end.kind === "threw" &&
    !(end.error instanceof JournalMismatchError) &&
    execution.toUndo.some(({ key }) => !execution.hasRequested(key))
  ) {
    const { name, message } = begun ?? failureOf(end.error);
    return { outcome: "failed", error: message || name, error_name: name, ...(begun && { retry: false }) };
  }
  try {
    if (!(await undoSteps(execution, run))) return { outcome: "released" };
  } catch (error) {
    if (execution.host.signal.aborted) return { outcome: "released" };
    const { name, message } = failureOf(error);
    return { outcome: "failed", error: message || name, error_name: name };
  }
  return begun ? { outcome: "failed", error: begun.message, error_name: begun.name, retry: false } : { outcome: "completed", result: null };
}

/**
 * Undoes the steps of a run that fails for good with this error. The error is stored first, so that a later execution continues to undo.
 * Returns false if it was aborted, or if the lease is lost.
 */
export async function undoFailed(execution: Execution, run: TakenRun, error: RunError): Promise<boolean> {
  if (execution.toUndo.length === 0) return true;
  try {
    const { name, message } = error;
    await execution.host.store([{ key: UNDO_BEGUN, type: "undo", status: "completed", output: { name, message }, attempt: 1 }]);
    return await undoSteps(execution, run, { hasStored: true });
  } catch (thrown) {
    // The service lets another execution undo the rest.
    return !execution.host.signal.aborted && !isLeaseLost(thrown);
  }
}

/**
 * Undoes completed steps one by one, the last one first, and stores each outcome. Returns false if it was aborted, if the lease is lost, or
 * if the next execution has to undo the rest because time runs short.
 *
 * @param hasStored whether this execution has stored something before, so that the next one gets further even if this one undoes nothing
 */
async function undoSteps(execution: Execution, run: TakenRun, { hasStored = false } = {}): Promise<boolean> {
  const { host } = execution;
  for (const [at, { key, output }] of execution.toUndo.entries()) {
    if ((hasStored || at > 0) && host.shouldYield()) return false;
    const reported = await undoOne(execution, run, key, output);
    if (!reported) return false;
    try {
      await host.store([reported]);
    } catch (error) {
      if (isLeaseLost(error)) return false;
      throw error;
    }
    if (host.signal.aborted) return false;
  }
  return true;
}

/** Null: it was aborted. */
async function undoOne(execution: Execution, { runId, attempts }: TakenRun, step: string, output: unknown): Promise<ReportedStep | null> {
  const { host } = execution;
  const key = undoKey(step);
  const undo = execution.undoOf(step);
  if (!undo) {
    const message = `The code of this worker does not reach step "${step}", or has no undo for it.`;
    const error = { name: "UndoError", message };
    return { key, type: "undo", status: "failed", error, attempt: 1, startedAt: momentText(host.nowMs()) };
  }
  const call = (context: StepContext) => undo.fn(copyOf(output), context);
  const replaced = host.replace?.({ name: key, key }, call) ?? call;
  // What an undo returns is not stored, so it need not have JSON.
  const fn = async (context: StepContext) => void (await replaced(context));
  const settings = { ...undo.settings, attempts: undo.settings.attempts ?? attempts };
  const outcome = await attemptStep(host, { key, fn, settings, undoable: false, idempotencyKey: idempotencyKey(runId, key) }, host.signal);
  if (!outcome) return null;
  const { output: _, ...reported } = outcome.reported;
  return { ...reported, type: "undo" };
}
