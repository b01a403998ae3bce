import type * as contract from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import type { UnawaitedStepError } from "../workflow/errors.ts";
import { executeRun } from "../workflow/execute.ts";
import { failureOf } from "../workflow/failure.ts";
import type { RunHost } from "../workflow/host.ts";
import { isLeaseLost } from "../workflow/lease-lost.ts";
import { notStored, storeOrOthers } from "../workflow/not-stored.ts";
import { batchSize } from "../workflow/outbox.ts";
import { progressText } from "../workflow/progress.ts";
import type { RunOutcome } from "../workflow/run-outcome.ts";
import type { WorkerCalls } from "./calls.ts";
import { countWithEnd } from "./fit-with-end.ts";
import type { Held, HeldLeases } from "./held-leases.ts";
import type { WorkerSettings } from "./options.ts";
import type { Outcome } from "./outcomes.ts";
import { ProgressSender } from "./progress-sender.ts";

type Store = (steps: readonly contract.ReportedStep[]) => Promise<void>;

/** Executes a run that the worker holds. Never rejects. */
export async function runWorkflow(
  { workflows, logger, name: worker, replayEachStep }: WorkerSettings,
  calls: WorkerCalls,
  leases: Pick<HeldLeases, "lose">,
  taken: contract.TakenRun,
  { controller, lost, stores }: Pick<Held, "controller" | "lost" | "stores">,
): Promise<Outcome> {
  const found = workflows.get(taken.workflowId);
  if (!found) return { outcome: "released" };
  const { runId, lease_token } = taken;
  const whileHeld = <T>(call: Promise<T>): Promise<T> =>
    call.catch((error: unknown) => {
      if (isLeaseLost(error)) leases.lose(runId, "lease_lost", lease_token);
      throw error;
    });
  const storing = <T>(call: Promise<T>): Promise<T> => {
    stores.add(call);
    return whileHeld(call).finally(() => stores.delete(call));
  };
  const newest = new ProgressSender((value) => whileHeld(calls.storeSteps(runId, { lease_token, progress: value }, lost.signal)));
  const progress = (value: unknown): void => {
    try {
      newest.set(JSON.parse(progressText(value)));
    } catch (error) {
      logger.warn("The progress of a run was not sent.", { worker, run: runId, error: failureOf(error).message });
    }
  };
  // At a shutdown, outcomes of steps in progress are still stored.
  const send: Store = (steps) => calls.storeSteps(runId, { lease_token, steps: [...steps], ...newest.take() }, lost.signal);
  const store: Store = (steps) => storing(storeOrOthers(steps, send));
  const sendEvent: RunHost["sendEvent"] = ({ key }, event) => storing(calls.sendEvent(runId, { lease_token, key, ...event }, lost.signal));
  const registerSignal: RunHost["registerSignal"] = ({ key }, signal) =>
    storing(calls.registerSignal(runId, { lease_token, key, signal }, lost.signal));
  const invoke: RunHost["invoke"] = ({ key }, invocation) => storing(calls.invoke(runId, { lease_token, key, ...invocation }, lost.signal));
  try {
    const warn = (message: string) => logger.warn(message, { worker, run: runId, workflow: taken.workflowId });
    const onUnawaited = replayEachStep ? ("fail" as const) : ({ message }: UnawaitedStepError) => warn(message);
    const onUnstopped = (key: string) => warn(unstopped(key));
    const development = { replayEachStep, checksRaces: replayEachStep, onUnawaited };
    const host = { store, sendEvent, registerSignal, invoke, progress, signal: controller.signal, onUnstopped, ...development };
    const outcome = await executeRun(found, taken, host);
    const isSettled = outcome.outcome === "released" || outcome.outcome === "unfit";
    const ending = isSettled ? outcome : await reported(outcome, store, lost.signal);
    return { ...ending, ...newest.end() };
  } catch (error) {
    newest.end();
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
