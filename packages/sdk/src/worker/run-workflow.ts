import type * as contract from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { stackText } from "../stack-text.ts";
import { StepError } from "../workflow/errors.ts";
import { executeRun } from "../workflow/execute.ts";
import { failureOf } from "../workflow/failure.ts";
import type { NeededHost } from "../workflow/host.ts";
import { isLeaseLost } from "../workflow/lease-lost.ts";
import { notStored } from "../workflow/not-stored.ts";
import { batchSize } from "../workflow/outbox.ts";
import { progressText } from "../workflow/progress.ts";
import type { RunOutcome } from "../workflow/run-outcome.ts";
import type { WorkerCalls } from "./calls.ts";
import { countWithEnd } from "./fit-with-end.ts";
import type { Held, HeldLeases } from "./held-leases.ts";
import type { WorkerSettings } from "./options.ts";
import type { Outcome } from "./outcomes.ts";
import { RunCalls } from "./run-calls.ts";

type Store = (steps: readonly contract.ReportedStep[]) => Promise<readonly string[]>;

/** Executes a run that the worker holds. Never rejects. */
export async function runWorkflow(
  { workflows, logger, name: worker, replayEachStep }: WorkerSettings,
  calls: WorkerCalls,
  leases: Pick<HeldLeases, "lose">,
  taken: contract.TakenRun,
  held: Pick<Held, "controller" | "lost" | "stores">,
  limits: Pick<NeededHost, "shouldYield" | "misfitAfterMs" | "graceMs"> = {},
): Promise<Outcome> {
  const workflow = workflows.get(taken.workflowId);
  if (!workflow) return { outcome: "released" };
  const { runId: run, workflowId, attempt, attempts } = taken;
  const runCalls = new RunCalls(calls, leases, taken, held);
  const store: Store = (steps) => runCalls.store(steps);
  const warn = (message: string) => logger.warn(message, { worker, run, workflow: workflowId });
  const host: NeededHost = {
    store,
    sendEvent: (step, event) => runCalls.sendEvent(step, event),
    registerSignal: (step, signal) => runCalls.registerSignal(step, signal),
    invoke: (step, invocation) => runCalls.invoke(step, invocation),
    progress: (value) => {
      try {
        runCalls.setProgress(JSON.parse(progressText(value)));
      } catch (error) {
        logger.warn("The progress of a run was not sent.", { worker, run, error: failureOf(error).message });
      }
    },
    ...limits,
    signal: held.controller.signal,
    replayEachStep,
    checksRaces: replayEachStep,
    onUnawaited: replayEachStep ? "fail" : ({ message }) => warn(message),
    onUnstopped: (key) => warn(unstopped(key)),
    onFailed: (thrown) => {
      const step = thrown instanceof StepError ? { step: thrown.step } : {};
      const fields = { worker, run, workflow: workflowId, attempt, attempts, ...step };
      logger.warn("An attempt of a run failed.", { ...fields, error: stackText(thrown) });
    },
  };
  try {
    const outcome = await executeRun(workflow, taken, host);
    if (outcome.outcome === "unfit") {
      const { step, error } = outcome;
      logger.warn("The journal of a run does not fit the code of this worker. The run waits for other code.", {
        worker,
        run,
        workflow: workflowId,
        step,
        error,
      });
    }
    const isSettled = outcome.outcome === "released" || outcome.outcome === "unfit";
    const ending = isSettled ? outcome : await reported(outcome, store, held.lost.signal);
    return { ...ending, ...runCalls.endProgress() };
  } catch (error) {
    runCalls.endProgress();
    const { name, message } = failureOf(error);
    return { outcome: "failed", error: message || name, error_name: name };
  }
}

const unstopped = (key: string): string =>
  `Step "${key}" is still running although its signal was aborted. The execution of the run cannot end before it. Let the step heed its signal, or ` +
  "give it a timeout.";

/** Stores steps before the outcome of their execution. If they cannot be stored, it returns the outcome to report instead. */
export async function storeFirst(steps: readonly contract.ReportedStep[], store: Store, signal: AbortSignal): Promise<Outcome | null> {
  for (let left = steps; left.length > 0; ) {
    const part = left.slice(0, batchSize(left));
    try {
      await store(part);
    } catch (error) {
      if (signal.aborted || isLeaseLost(error)) return { outcome: "released" };
      // The next execution would have the same steps.
      const { name, message } = notStored(part, error);
      return { outcome: "failed", error: message, error_name: name, retry: false };
    }
    left = left.slice(part.length);
  }
  return null;
}

/** Reports an outcome with the steps that are not stored yet. If they do not fit, it stores them first. */
async function reported(
  outcome: Exclude<RunOutcome, { outcome: "released" | "unfit" }>,
  store: Store,
  signal: AbortSignal,
): Promise<Outcome> {
  const steps = [...(outcome.steps ?? [])];
  const rest = steps.splice(steps.length - Math.min(countWithEnd(steps), LIMITS.reportedSteps));
  const notReported = await storeFirst(steps, store, signal);
  if (notReported) return notReported;
  const withRest = rest.length > 0 && { steps: rest };
  switch (outcome.outcome) {
    case "suspended":
      return { outcome: "suspended", steps: rest };
    case "completed":
      return { outcome: "completed", result: JSON.stringify(outcome.result), ...withRest };
    case "failed": {
      const { steps: _, ...failed } = outcome;
      return { ...failed, ...withRest };
    }
  }
}
