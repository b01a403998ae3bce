import type { TakenRun } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { retryOf } from "../worker/retry-of.ts";
import { drive } from "./drive.ts";
import { JournalMismatchError, RunAbortedError, StepCancelledError, StepError, UnawaitedStepError } from "./errors.ts";
import { type End, Execution } from "./execution.ts";
import { failureOf } from "./failure.ts";
import { liveHost, type NeededHost } from "./host.ts";
import { remember } from "./remembered.ts";
import { ReplayCheck } from "./replay-check.ts";
import type { RunOutcome } from "./run-outcome.ts";
import { startProgram } from "./start-program.ts";
import { stepErrorCausing } from "./step-errors-behind.ts";
import { undoBegun } from "./undo.ts";
import { undoFailed, undoRun } from "./undo-steps.ts";
import type { AnyWorkflow } from "./workflow.ts";

const ABORTED: End = { kind: "aborted" };

/** Executes a run from the top of its workflow, as far as it gets. Never rejects. */
export async function executeRun(workflow: AnyWorkflow, run: TakenRun, needed: NeededHost): Promise<RunOutcome> {
  const host = liveHost(needed);
  const execution = new Execution(host, run.journal);
  const abort = () => {
    execution.executing.abortAll(host.signal.reason);
    execution.finish({ kind: "aborted" });
  };
  host.signal.addEventListener("abort", abort, { once: true });
  if (host.signal.aborted) return { outcome: "released" };
  const onlyUndoes = run.undo === true || undoBegun(execution.journal) !== null;
  const check = host.replayEachStep && !onlyUndoes ? new ReplayCheck(workflow, run) : null;
  startProgram(workflow, execution, run);
  await drive(execution, { check, onlyUndoes });
  // A step whose outcome is being stored may still be refused.
  if (execution.end?.kind === "returned") await execution.outbox.sent();
  const reached = execution.end ?? ABORTED;
  const end = onlyUndoes ? reached : await checkedEnd(execution, run, reached, check);
  const outcome = onlyUndoes && end.kind !== "aborted" ? await undoRun(execution, run, end) : await conclude(execution, run, end);
  host.signal.removeEventListener("abort", abort);
  if (outcome.outcome === "failed") host.onFailed(end.kind === "threw" ? end.error : outcome.error);
  return outcome;
}

/** In development, what a program returned must come back from a replay, and it must have awaited its steps. */
async function checkedEnd(execution: Execution, run: TakenRun, end: End, check: ReplayCheck | null): Promise<End> {
  if (end.kind === "threw") return checkMisfit(execution, run, end);
  if (end.kind !== "returned") return end;
  const unawaited = checkAwaited(execution);
  const error = (await check?.atReturn(execution, end.result)) ?? unawaited;
  return error ? { kind: "threw", error } : end;
}

/**
 * Code that throws before it has reached all remembered steps does not fit the journal: it did not throw when they were stored. If another
 * attempt is left, the run is tried again instead, since the error may be temporary.
 */
function checkMisfit(execution: Execution, run: TakenRun, end: Extract<End, { kind: "threw" }>): End {
  const { firstUnreached } = execution.journal;
  if (firstUnreached === undefined || hasNextAttempt(execution, run, end.error)) return end;
  return { kind: "threw", error: JournalMismatchError.threwBefore(firstUnreached, failureOf(end.error)) };
}

/** Returns the error of a program that did not await its steps. If its code does not fit the journal, that is the error. */
function checkAwaited({ host, journal, unawaitedSteps }: Execution): UnawaitedStepError | null {
  if (unawaitedSteps.length === 0 || journal.unreached > 0) return null;
  const error = new UnawaitedStepError(unawaitedSteps);
  if (host.onUnawaited === "fail") return error;
  host.onUnawaited(error);
  return null;
}

async function conclude(execution: Execution, run: TakenRun, end: End): Promise<RunOutcome> {
  if (end.kind === "aborted") return release(execution);
  if (end.kind === "yielded") return yieldRun(execution);
  const { executing, outbox, waiting, failures, hasUndos } = execution;
  if (end.kind === "threw" && hasNextAttempt(execution, run, end.error)) await endSteps(execution);
  if (end.kind !== "suspended" && hasUndos && failsForGood(run, outcomeOf(execution, run, end))) {
    // They may still complete, and are then undone, too.
    executing.abortAll(new Error("The run has failed."));
    await executing.ended();
  } else executing.cancelAll((key) => new StepCancelledError(key));
  await outbox.sent();
  if (end.kind === "suspended")
    return {
      outcome: "suspended",
      steps: [...outbox.unsent, ...failures.held, ...waiting.unstored],
    };
  const outcome = outcomeOf(execution, run, end);
  // Code that does not fit the journal undoes nothing.
  return hasUndos && failsForGood(run, outcome) ? failUndone(execution, run, outcome) : outcome;
}

/**
 * Lets steps in progress end by themselves, and asks them to when that takes too long. The next attempt gets their outcomes, and must not
 * execute them beside themselves. It may also execute those again that were cancelled, and so have been asked to end already.
 */
async function endSteps({ executing, host }: Execution): Promise<void> {
  if (executing.size === 0) return executing.ended();
  const grace = host.deadline(host.graceMs, host.signal, () => new Error("The attempt of the run has failed."));
  grace.signal.addEventListener("abort", () => executing.abortAll(grace.signal.reason), { once: true });
  await executing.ended();
  grace.end();
}

type Failed = Extract<RunOutcome, { outcome: "failed" }>;

const outcomeOf = (execution: Execution, run: TakenRun, end: Extract<End, { kind: "returned" | "threw" }>): RunOutcome =>
  end.kind === "returned" ? completed(execution, run, end.result) : failed(execution, run, end.error);

const hasNextAttempt = (execution: Execution, { attempt, attempts }: TakenRun, error: unknown): boolean =>
  error instanceof JournalMismatchError || (attempt < attempts && retryOfRun(execution, error).retry !== false);

const failsForGood = ({ attempt, attempts }: TakenRun, outcome: RunOutcome): outcome is Failed =>
  outcome.outcome === "failed" && (outcome.retry === false || attempt >= attempts);

/** Undoes the steps of a run that fails for good, before it says so. What they did is stored before. */
async function failUndone(execution: Execution, run: TakenRun, outcome: Failed): Promise<RunOutcome> {
  const isStored = await execution.outbox.sendKept().then(
    () => true,
    () => false,
  );
  const { steps, ...failed } = outcome;
  if (execution.toUndo.length === 0) return isStored ? failed : outcome;
  const isUndone = await undoFailed(execution, run, { name: outcome.error_name, message: outcome.error });
  return isUndone ? { ...failed, retry: false } : { outcome: "released" };
}

function completed(execution: Execution, run: TakenRun, value: unknown): RunOutcome {
  const { firstUnreached } = execution.journal;
  if (firstUnreached !== undefined)
    return failed(execution, run, JournalMismatchError.neverReached(firstUnreached, execution.firstUnknown));
  try {
    const unsent = execution.outbox.unsent.filter(({ status }) => status !== "waiting");
    return { outcome: "completed", result: remember(value, "the workflow"), ...(unsent.length > 0 && { steps: unsent }) };
  } catch (error) {
    return failed(execution, run, error);
  }
}

function failed(execution: Execution, run: TakenRun, error: unknown): RunOutcome {
  if (error instanceof JournalMismatchError) return { outcome: "unfit", step: error.step, error: error.message };
  const { name, message } = failureOf(error);
  const kept = execution.outbox.kept.filter(({ status }) => status !== "waiting");
  const steps = kept.length > 0 && { steps: kept };
  const retry = retryOfRun(execution, error);
  const said = { outcome: "failed", error: message || name, error_name: name, ...retry, ...steps } as const;
  const { provisional } = execution.outbox;
  const stored = execution.failures.stepsToRepeat.filter((key) => !provisional.has(key));
  if (stored.length > 0 && hasNextAttempt(execution, run, error))
    return { ...said, retry: true, retry_steps: stored.slice(0, LIMITS.retrySteps) };
  // An empty list is sent, too: without one, the service would take failures with the same message for the steps that a retry executes
  // again.
  return { ...said, retry_steps: execution.failures.stepsToRetry(error).slice(0, LIMITS.retrySteps) };
}

type Retry = { readonly retry?: boolean; readonly retry_in?: number };

/** What an error says, or else the failure of a step that it has as its cause. */
function retryOfRun(execution: Execution, error: unknown): Retry {
  if (error instanceof StepError) return retryOfStep(execution, error);
  const own = retryOf(error);
  const failure = stepErrorCausing(error);
  if (Object.keys(own).length > 0 || !failure) return own;
  const said = retryOf(execution.failures.thrownBy(failure.step));
  return said.retry === false && repeatsOther(execution, failure) ? {} : said;
}

/** Whether the next attempt executes another step again, which may then complete. */
const repeatsOther = ({ outbox, failures }: Execution, { step }: StepError): boolean =>
  [...outbox.provisional, ...failures.stepsToRepeat].some((key) => key !== step);

function retryOfStep({ outbox, failures }: Execution, { step }: StepError): Retry {
  // A replay throws a remembered failure again.
  const isForgotten = outbox.provisional.has(step) || failures.stepsToRepeat.includes(step);
  return isForgotten ? retryOf(failures.thrownBy(step)) : { retry: false };
}

/** What the program has seen is stored. A step that has failed and is not awaited yet is executed again, as if the run were tried again. */
async function yieldRun({ outbox }: Execution): Promise<RunOutcome> {
  await outbox.sendKept().catch(() => {});
  return { outcome: "released" };
}

/** Steps in progress end first. If the run is still this worker's, outcomes are stored, even while a step does not end. */
async function release({ executing, outbox, host }: Execution): Promise<RunOutcome> {
  const { reason } = host.signal;
  const isHeld = reason instanceof RunAbortedError && reason.why === "shutdown";
  const store = async () => {
    await outbox.sent();
    if (isHeld) await outbox.sendKept().catch(() => {});
  };
  await store();
  await executing.ended();
  await store();
  return { outcome: "released" };
}
