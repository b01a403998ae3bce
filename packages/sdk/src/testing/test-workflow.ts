import type { Hook, RunError, RunStep } from "@tidemill/contract";
import { type Moment, momentMs } from "../clock.ts";
import { failureOf } from "../workflow/failure.ts";
import { callHook, hooksOf } from "../workflow/hooks.ts";
import type { InputToGive } from "../workflow/invoke.ts";
import { remember } from "../workflow/remembered.ts";
import type { AnyWorkflow, Workflow } from "../workflow/workflow.ts";
import type { SignalAnswers } from "./answers.ts";
import { checkTestOptions } from "./check-options.ts";
import { Used } from "./check-use.ts";
import { Crashes, type CrashMode, differenceAfterCrashes } from "./crashes.ts";
import { finishRun } from "./finish-run.ts";
import type { Invokes, RunChild } from "./invokes.ts";
import { type End, MemoryRun, type SentByRun } from "./memory-run.ts";
import { type Failures, type Mocks, Substitutes } from "./substitutes.ts";
import { VirtualClock } from "./virtual-clock.ts";

export interface TestSettings {
  /**
   * By step name, or key in the journal (`name:2`): what the step returns instead of executing its function. A function is called. For
   * `step.http`: the response. `neverEnds`: the step does not end, so that a sleep beside it, or its `timeout`, comes first.
   */
  readonly mocks?: Mocks;
  /**
   * By the id of a signal: the payload that completes it when the run waits for it, or before if `step.signal` has registered it. A
   * function is called; `timesOut` lets the wait time out.
   */
  readonly signals?: SignalAnswers;
  /**
   * By the id of a workflow: what a run of it returns when a step invokes it. A function is called with the input, and the run fails with
   * what it throws. `timesOut` lets the invocation time out. A workflow is run in memory, with these settings.
   */
  readonly invokes?: Invokes;
  /** By step name or key: the error with which the step always fails, or how many times it fails before it succeeds. */
  readonly fail?: Failures;
  /**
   * Ends executions early, and lets the run continue from its journal. When the run has completed, the whole journal is replayed. The test
   * fails if a replay does or returns something else. The run is also executed without crashes, and must do and return the same where its
   * steps returned the same.
   *
   * - `afterEveryStep`: when a step has been stored, before the workflow learns of it. The test also fails if a step has its effect twice in
   *   a run that completes in its first attempt. The run without crashes comes last, and is compared if its steps ended in the same order.
   * - `everywhere`: each outcome is also lost once before it is stored, as when a worker dies: steps have their effects again. The run
   *   without crashes comes first.
   */
  readonly crash?: CrashMode;
  /** Key of a step. When it has been stored, the run is cancelled, and its steps are undone. */
  readonly cancelAfter?: string;
  /** When the run begins. 2026-01-01T00:00:00Z by default. */
  readonly startAt?: Moment;
  /** How often the run may continue, after a sleep, a wait, a failure or a crash, before the test fails. 500 by default. */
  readonly maxExecutions?: number;
}

/** The input may be left out where the workflow needs none, or takes null. */
export type TestOptions<Input> = TestSettings & InputToGive<Input>;

interface EndedRun {
  /** The journal: steps in the order of their outcomes. */
  readonly steps: readonly RunStep[];
  /** Events that its steps have sent, in order. */
  readonly events: readonly SentByRun[];
  /** The progress that the run has reported, in order. An attempt that follows a failed one may repeat some values. */
  readonly progress: readonly unknown[];
  /** Steps that could not be undone. */
  readonly undoErrors: readonly { readonly step: string; readonly message: string }[];
  /** What a lifecycle hook threw. */
  readonly hookErrors: readonly { readonly hook: Hook; readonly message: string }[];
  /** The attempt in which the run ended. */
  readonly attempt: number;
  /** How long the run took by the virtual clock. Milliseconds. */
  readonly elapsedMs: number;
}

/** How a run ended. */
export type TestedRun<Result> = EndedRun &
  (
    | { readonly status: "completed"; readonly result: Result; readonly error: null }
    | { readonly status: "failed"; readonly result: null; readonly error: RunError }
    | { readonly status: "cancelled"; readonly result: null; readonly error: null }
  );

/** The options that exist, and the values of `crash`. */
const KNOWN = {
  options: {
    input: true,
    mocks: true,
    signals: true,
    invokes: true,
    fail: true,
    crash: true,
    cancelAfter: true,
    startAt: true,
    maxExecutions: true,
  } satisfies Record<keyof TestSettings | "input", true>,
  crash: { afterEveryStep: true, everywhere: true } satisfies Record<CrashMode, true>,
};
/** The id of the run. Runs that it invokes have ids that begin with it. */
const TEST_RUN = "run_test";
const MAX_EXECUTIONS = 500;

/**
 * Runs a workflow in memory, without a service. Its clock is virtual: sleeps, waits and backoffs pass immediately, and executing a step
 * takes no time. Lifecycle hooks are called as the service would call them.
 *
 * ```ts
 * const { result } = await testWorkflow(onboard, { input: { userId: "u1" }, mocks: { "load user": { name: "Ada" } } });
 * ```
 *
 * @throws when a step waits for something that the test does not provide, when `mocks` or `fail` name a step that the run does not reach,
 * when `signals` or `invokes` have something that it does not use, when the run does not end, when the workflow is not deterministic, and for anything that `crash` finds
 */
export async function testWorkflow<Input, Result>(
  workflow: Workflow<Input, Result>,
  options: TestOptions<Input>,
): Promise<TestedRun<Result>> {
  checkTestOptions(options, KNOWN);
  const settings: TestSettings = options;
  const { startAt = "2026-01-01T00:00:00Z", cancelAfter } = settings;
  const input = remember(options.input, "the test", "input");
  const fromTop = (): From => ({
    runId: TEST_RUN,
    startMs: momentMs(startAt),
    above: [],
    substitutes: new Substitutes(settings.mocks ?? {}, settings.fail ?? {}),
    used: new Used(),
    cancelAfter,
  });
  const { crash } = settings;
  const runPlain = () => runInMemory(workflow, input, settings, { ...fromTop(), isPlain: true });
  const before = crash === "everywhere" ? await runPlain() : null;
  const from = fromTop();
  const tested = await runInMemory(workflow, input, settings, from);
  // What the test has for the steps to change, such as a fake bank, is as new in the run that is returned.
  const plain = crash === "afterEveryStep" ? await runPlain() : before;
  const difference = crash && plain && differenceAfterCrashes(crash, plain, tested);
  if (difference) throw new Error(`With crashes, the run was different. ${difference}`);
  const isComplete = tested.status === "completed";
  from.substitutes.checkUse(isComplete, tested.steps);
  from.used.check(settings, isComplete);
  const { effects: _, seen: __, ...shown } = tested;
  return shown as TestedRun<Result>;
}

/** Which run it is, and when it begins. */
interface From {
  readonly runId: string;
  readonly startMs: number;
  /** The workflows of the runs that led to this one by invoking one another. */
  readonly above: readonly string[];
  readonly substitutes: Substitutes;
  readonly used: Used;
  readonly cancelAfter: string | undefined;
  /** Whether executions end without crashes, and no hooks are called. */
  readonly isPlain?: boolean;
}

async function runInMemory(
  workflow: AnyWorkflow,
  input: unknown,
  settings: TestSettings,
  { runId, startMs, above, substitutes, used, cancelAfter, isPlain = false }: From,
): Promise<TestedRun<unknown> & Pick<MemoryRun, "effects" | "seen">> {
  const { signals = {}, invokes = {}, crash, maxExecutions = MAX_EXECUTIONS } = settings;
  const clock = new VirtualClock(startMs);
  const runChild: RunChild = async (child, of, childId, from) => {
    const next = {
      runId: childId,
      startMs: from,
      above: [...above, workflow.id],
      substitutes: substitutes.forChild(),
      used,
      cancelAfter: undefined,
      isPlain,
    };
    const { result, error, elapsedMs } = await runInMemory(child, of, settings, next);
    return { result, error, atMs: from + elapsedMs };
  };
  const crashes = new Crashes(isPlain ? undefined : crash);
  const run = new MemoryRun(workflow, input, clock, substitutes, { crashes, used, signals, invokes, runChild, runId, above, cancelAfter });
  const ended = await finishRun(run, clock, workflow, maxExecutions);
  if (cancelAfter !== undefined && !run.isCancelled)
    throw new Error(`Step "${cancelAfter}", after which the run is to be cancelled, was not stored.`);
  const hookErrors = isPlain ? [] : await fireHook(workflow, ended, { runId, attempt: run.attempt });
  return {
    ...ended,
    steps: run.steps,
    effects: run.effects,
    seen: run.seen,
    events: run.events,
    progress: run.progress,
    undoErrors: run.undoErrors,
    hookErrors,
    attempt: run.attempt,
    elapsedMs: clock.nowMs() - startMs,
  };
}

const HOOK_OF = { completed: "onSuccess", failed: "onFailure", cancelled: "onCancel" } as const;

/** Calls the hook for the end of a run, if the workflow has one. */
async function fireHook(
  { id, options }: AnyWorkflow,
  end: End,
  run: Pick<From, "runId"> & { readonly attempt: number },
): Promise<EndedRun["hookErrors"]> {
  const hook = HOOK_OF[end.status];
  if (!hooksOf(options).includes(hook)) return [];
  const taken = { hook, ...run, workflowId: id, result: end.result, error: end.error } as const;
  return callHook(options, taken).then(
    () => [],
    (error: unknown) => [{ hook, message: failureOf(error).message }],
  );
}
