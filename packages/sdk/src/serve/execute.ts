import type * as contract from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { TidemillError } from "../error.ts";
import { wait } from "../wait.ts";
import { WorkerCalls } from "../worker/calls.ts";
import type { AbortCause } from "../worker/errors.ts";
import type { KeyState } from "../worker/key-state.ts";
import type { WorkerSettings } from "../worker/options.ts";
import { type Outcome, outcomeText } from "../worker/outcomes.ts";
import { runHook } from "../worker/run-hook.ts";
import { runWorkflow, storeFirst } from "../worker/run-workflow.ts";
import { RunAbortedError } from "../workflow/errors.ts";
import { GRACE_MS, MISFIT_AFTER_MS } from "../workflow/host.ts";

/** Characters of an outcome with steps that the response carries: a character takes at most 3 bytes. */
const MAX_CHARACTERS = LIMITS.outcomeBytes / 4;
/** How many steps one call reads. */
const PAGE = 100;

/** An execution begins no step after this part of its time: the rest is for steps in progress. */
const STEPS_BEGIN_WITHIN = 0.5;
/** What an execution waits for before it ends takes at most this part of its time. */
const WAITS_FOR = 1 / 3;
/** How long a handler whose time is over waits for the service to close the connection, which it does at about that time. Milliseconds. */
const CLOSES_WITHIN_MS = 1_000;

/** What is needed to execute a pushed run or hook. */
export interface PushedTo {
  readonly settings: WorkerSettings;
  readonly key: KeyState;
}

/** How an execution ends: with an outcome, as JSON text, or without one, because its time was over before. */
export type PushedEnd = { readonly outcome: string } | { readonly outcome: null; readonly reason: string };

export type Pushed = contract.PushedRun | contract.PushedHook;

/**
 * Executes a run or a hook that was pushed. Never rejects.
 *
 * @param signal ends the execution: the service no longer waits for it
 * @param heldMs how long the service waits for the execution. Milliseconds
 */
export async function executePushed({ settings, key }: PushedTo, pushed: Pushed, signal: AbortSignal, heldMs: number): Promise<PushedEnd> {
  if (pushed.kind === "hook") return { outcome: outcomeText(await runHook(settings, pushed)) };
  const calls = new WorkerCalls(settings, key);
  const [controller, lost] = [new AbortController(), new AbortController()];
  const abort = (why: AbortCause, message?: string) => {
    lost.abort(new RunAbortedError(why, message));
    controller.abort(new RunAbortedError(why, message));
  };
  const lose = (_id: string, why: AbortCause) => abort(why);
  const setting = `(endpoint_timeout: ${Math.round(heldMs / 1_000)} s)`;
  const end = () =>
    abort("disconnected", `The service no longer waits for this execution: the run was cancelled, or its time is over ${setting}.`);
  let isOverdue = false;
  let failure: TidemillError | null = null;
  const overdue = () => {
    isOverdue = true;
    failure = calls.failure;
    abort("timed_out", `The time for this execution of the run is over ${setting}.`);
  };
  const withoutOutcome = async (): Promise<PushedEnd> => {
    if (failure) return { outcome: null, reason: `The handler cannot call the service at ${settings.url}: ${failure.message}` };
    // The service ends the execution.
    await wait(CLOSES_WITHIN_MS, signal).catch(() => {});
    return { outcome: null, reason: `The time for this execution is over ${setting}.` };
  };
  const timer = setTimeout(overdue, heldMs);
  const { elapsedMs } = settings;
  const yieldsAtMs = elapsedMs() + heldMs * STEPS_BEGIN_WITHIN;
  const limits = {
    shouldYield: () => elapsedMs() >= yieldsAtMs,
    misfitAfterMs: Math.min(MISFIT_AFTER_MS, heldMs * WAITS_FOR),
    graceMs: Math.min(GRACE_MS, heldMs * WAITS_FOR),
  };
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  try {
    const journal = pushed.journal ?? (await fetchJournal(calls, pushed, lost.signal));
    const held = { controller, lost, stores: new Set<Promise<unknown>>() };
    const outcome = await runWorkflow(settings, calls, { lose }, { ...pushed, journal }, held, limits);
    const text = isOverdue && outcome.outcome === "released" ? null : await fitting(calls, pushed, outcome, lost.signal, () => isOverdue);
    return text === null ? await withoutOutcome() : { outcome: text };
  } catch (error) {
    // The service has another execution of the run, or starts one.
    settings.logger.warn("An execution of a run ended without an outcome.", { run: pushed.runId, error: String(error) });
    return isOverdue ? await withoutOutcome() : { outcome: outcomeText({ outcome: "released" }) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

async function fetchJournal(
  calls: WorkerCalls,
  { runId, lease_token, journalSteps = 1 }: contract.PushedRun,
  signal: AbortSignal,
): Promise<contract.RunStep[]> {
  const steps: contract.RunStep[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { lease_token, limit: PAGE, ...(cursor !== undefined && { cursor }) };
    const page = await calls.journal(runId, query, signal);
    steps.push(...page.data);
    cursor = page.next_cursor;
  }
  // An execution would repeat the steps that are missing.
  if (steps.length < journalSteps) {
    const message = `The response has ${steps.length} steps of the run's journal, which has at least ${journalSteps}.`;
    throw new TidemillError({ code: "UNEXPECTED_RESPONSE", message });
  }
  return steps;
}

/** The outcome as the response carries it. If its steps are too large for that, they are stored first. Null: the time was over before. */
async function fitting(
  calls: WorkerCalls,
  { runId, lease_token }: contract.PushedRun,
  outcome: Outcome,
  signal: AbortSignal,
  isOverdue: () => boolean,
): Promise<string | null> {
  const fits = withFittingKeys(withFittingResult(outcome));
  const text = outcomeText(fits);
  if (text.length <= MAX_CHARACTERS || !("steps" in fits) || !fits.steps) return text;
  const notReported = await storeFirst(fits.steps, (steps) => calls.storeSteps(runId, { lease_token, steps: [...steps] }, signal), signal);
  return notReported?.outcome === "released" && isOverdue() ? null : outcomeText(notReported ?? { ...fits, steps: [] });
}

/** The outcome as it is, or a failure if the run's result is too large for the response. */
function withFittingResult(outcome: Outcome): Outcome {
  if (outcome.outcome !== "completed" || outcome.result === undefined) return outcome;
  const { result, ...rest } = outcome;
  const bytes = new TextEncoder().encode(result).length;
  if (bytes <= LIMITS.resultBytes) return outcome;
  const error = `The result has ${bytes} bytes; the limit is ${LIMITS.resultBytes} bytes.`;
  return { ...rest, outcome: "failed", error, error_name: "ResultTooLargeError", retry: false };
}

/** The outcome with as many keys of steps that a retry executes again as the response carries. */
function withFittingKeys(outcome: Outcome): Outcome {
  if (outcome.outcome !== "failed" || !outcome.retry_steps) return outcome;
  let characters = 0;
  const fitting = outcome.retry_steps.filter((key) => {
    characters += JSON.stringify(key).length + 1;
    return characters <= MAX_CHARACTERS;
  });
  return { ...outcome, retry_steps: fitting };
}
