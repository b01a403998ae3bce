import type { TakenRun } from "@tidemill/contract";
import { parsePayload } from "../schema.ts";
import { retryOf } from "../worker/retry-of.ts";
import { drive } from "./drive.ts";
import { JournalMismatchError, RunAbortedError, StepCancelledError, StepError } from "./errors.ts";
import { type End, Execution } from "./execution.ts";
import { failureOf } from "./failure.ts";
import { liveHost, type NeededHost } from "./host.ts";
import { remember } from "./remembered.ts";
import type { RunOutcome } from "./run-outcome.ts";
import { runValues } from "./run-values.ts";
import { stepsOf } from "./steps.ts";
import { undoBegun } from "./undo.ts";
import { undoFailed, undoRun } from "./undo-steps.ts";
import type { AnyWorkflow } from "./workflow.ts";

/** Executes a run from the top of its workflow, as far as it gets. Never rejects. */
export async function executeRun({ options, program }: AnyWorkflow, run: TakenRun, needed: NeededHost): Promise<RunOutcome> {
  const host = liveHost(needed);
  const execution = new Execution(host, run.journal);
  const abort = () => {
    execution.executing.abortAll(host.signal.reason);
    execution.finish({ kind: "aborted" });
  };
  const start = async (): Promise<unknown> => {
    const input = options.input ? await parsePayload(options.input, run.input, "input") : run.input;
    return program({ input: input as never, step: stepsOf(execution, run.runId), run: runValues(execution, run) });
  };
  host.signal.addEventListener("abort", abort, { once: true });
  if (host.signal.aborted) return { outcome: "released" };
  void start().then(
    (result) => execution.finish({ kind: "returned", result }),
    (error: unknown) => execution.finish({ kind: "threw", error }),
  );
  const onlyUndoes = run.undo === true || undoBegun(execution.journal) !== null;
  await drive(execution, onlyUndoes);
  host.signal.removeEventListener("abort", abort);
  const end = execution.end ?? { kind: "aborted" };
  return onlyUndoes && end.kind !== "aborted" ? undoRun(execution, run) : conclude(execution, end, run);
}

async function conclude(execution: Execution, end: End, run: TakenRun): Promise<RunOutcome> {
  if (end.kind === "aborted") return release(execution);
  const { executing, outbox, waiting } = execution;
  if (end.kind !== "suspended" && execution.undos.size > 0) return concludeWithUndos(execution, end, run);
  executing.cancelAll((key) => new StepCancelledError(key));
  await outbox.sent();
  switch (end.kind) {
    case "returned":
      return completed(execution, end.result);
    case "threw":
      return failed(execution, end.error);
    case "suspended":
      return { outcome: "suspended", steps: [...outbox.unsent, ...[...waiting.values()].filter((step) => step !== null)] };
  }
}

/** If the run fails for good, its steps are undone before it says so. Steps in progress end first: they may complete. */
async function concludeWithUndos(
  execution: Execution,
  end: Extract<End, { kind: "returned" | "threw" }>,
  run: TakenRun,
): Promise<RunOutcome> {
  const { executing, outbox } = execution;
  const outcome = end.kind === "returned" ? completed(execution, end.result) : failed(execution, end.error);
  const isMisfit = outcome.outcome === "failed" && outcome.error_name === "JournalMismatchError";
  const isOver = outcome.outcome === "failed" && !isMisfit && (outcome.retry === false || run.attempt >= run.attempts);
  if (!isOver) executing.cancelAll((key) => new StepCancelledError(key));
  else executing.abortAll(new Error("The run has failed."));
  await executing.ended();
  await outbox.sent();
  if (!isOver) return end.kind === "returned" ? completed(execution, end.result) : outcome;
  await outbox.sendFinal().catch(() => {});
  const isUndone = await undoFailed(execution, run, { name: outcome.error_name, message: outcome.error });
  return isUndone ? { ...outcome, retry: false } : { outcome: "released" };
}

function completed(execution: Execution, value: unknown): RunOutcome {
  const { firstUnasked } = execution.journal;
  if (firstUnasked !== undefined) return failed(execution, JournalMismatchError.neverAsked(firstUnasked));
  try {
    const { unsent } = execution.outbox;
    return { outcome: "completed", result: remember(value, "the workflow"), ...(unsent.length > 0 && { steps: unsent }) };
  } catch (error) {
    return failed(execution, error);
  }
}

/** Outcomes that are not stored are left out: the next attempt may have others. */
function failed(execution: Execution, error: unknown): RunOutcome {
  const { name, message } = failureOf(error);
  return { outcome: "failed", error: message || name, error_name: name, ...retryOfRun(execution, error) };
}

function retryOfRun({ outbox, thrown }: Execution, error: unknown): { retry?: boolean; retry_in?: number } {
  if (error instanceof JournalMismatchError) return { retry: true };
  if (!(error instanceof StepError)) return retryOf(error);
  // A replay throws a remembered failure again.
  const isRemembered = !outbox.unsent.some(({ key }) => key === error.step);
  return isRemembered ? { retry: false } : retryOf(thrown.get(error.step));
}

/** Steps in progress end first. If the run is still this worker's, their outcomes are stored. */
async function release({ executing, outbox, host }: Execution): Promise<RunOutcome> {
  await executing.ended();
  await outbox.sent();
  const { reason } = host.signal;
  const isHeld = reason instanceof RunAbortedError && reason.why === "shutdown";
  if (isHeld) await outbox.sendFinal().catch(() => {});
  return { outcome: "released" };
}
