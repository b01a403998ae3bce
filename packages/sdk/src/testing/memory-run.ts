import type { ReportedStep, RunError, RunStep } from "@tidemill/contract";
import { invokedTooDeep, journalTooLargeError, undoKey, undoneBy } from "@tidemill/contract/journal";
import { LIMITS } from "@tidemill/contract/limits";
import { momentMs, momentText } from "../clock.ts";
import { TidemillError } from "../error.ts";
import type { EventSent } from "../workflow/context.ts";
import { RunAbortedError } from "../workflow/errors.ts";
import { executeRun } from "../workflow/execute.ts";
import type { RunHost, StepEvent, StepFunction } from "../workflow/host.ts";
import { progressText } from "../workflow/progress.ts";
import { remember } from "../workflow/remembered.ts";
import type { RunOutcome } from "../workflow/run-outcome.ts";
import type { AnyWorkflow } from "../workflow/workflow.ts";
import { answerCall } from "./answer-call.ts";
import { answerTo, hasPayload, neverEnds, type SignalAnswers } from "./answers.ts";
import type { Used } from "./check-use.ts";
import type { Crashes } from "./crashes.ts";
import { type Invokes, MemoryInvocations, type RunChild } from "./invokes.ts";
import { MemoryJournal } from "./memory-journal.ts";
import { repeatableRandom, repeatableUuid } from "./repeatable.ts";
import type { Substitutes } from "./substitutes.ts";
import type { VirtualClock } from "./virtual-clock.ts";
import { virtualDeadlines } from "./virtual-deadline.ts";

/** What the mock of a step that sends an event gets. */
const SEND = { signal: new AbortController().signal, attempt: 1, idempotencyKey: "test" };

/** Attempts of a run if its workflow sets none. */
export const DEFAULT_ATTEMPTS = 3;

/** How often an execution that only undoes may fail. */
const UNDO_ATTEMPTS = 10;

/** How long a workflow may be busy elsewhere before it reaches a step of the journal. Milliseconds. */
const MISFIT_AFTER_MS = 1_000;

/** How long steps in progress may go on beside a failure, in real time. Milliseconds. */
const GRACE_MS = 1_000;

/** An event that a step of a run has sent. */
export interface SentByRun {
  readonly name: string;
  readonly data: unknown;
  /** Milliseconds since 1970. */
  readonly ts: number;
}

export interface MemoryRunOptions {
  readonly crashes: Crashes;
  readonly used: Used;
  readonly signals: SignalAnswers;
  readonly invokes: Invokes;
  readonly runChild: RunChild;
  readonly runId: string;
  /** The workflows of the runs that led to this one by invoking one another, the first one first. */
  readonly above: readonly string[];
  /** Key of the step after which the run is cancelled. */
  readonly cancelAfter: string | undefined;
}

/** How a run ended. */
export type End =
  | { readonly status: "completed"; readonly result: unknown; readonly error: null }
  | { readonly status: "failed"; readonly result: null; readonly error: RunError }
  | { readonly status: "cancelled"; readonly result: null; readonly error: null };

/** A run in memory. */
export class MemoryRun {
  readonly #workflow: AnyWorkflow;
  readonly #input: unknown;
  readonly #clock: VirtualClock;
  readonly #substitutes: Substitutes;
  readonly #crashes: Crashes;
  readonly #used: Used;
  readonly #signals: SignalAnswers;
  readonly #cancelAfter: string | undefined;
  readonly #journal: MemoryJournal;
  readonly #invocations: MemoryInvocations;
  readonly #runId: string;
  readonly #above: readonly string[];
  /** Events that its steps have sent. */
  readonly events: SentByRun[] = [];
  /** The progress that it has reported. */
  readonly progress: unknown[] = [];
  attempt = 1;
  /** Whether the last execution only undid steps. */
  isUndone = false;
  /** Keys of the calls that do not end. */
  readonly #endless = new Set<string>();
  /** Why it has failed, if steps are still to be undone. */
  #failed: RunError | null = null;
  /** How many executions that only undo have failed. */
  #failedUndos = 0;

  constructor(
    workflow: AnyWorkflow,
    input: unknown,
    clock: VirtualClock,
    substitutes: Substitutes,
    { crashes, used, signals, invokes, runChild, runId, above, cancelAfter }: MemoryRunOptions,
  ) {
    this.#workflow = workflow;
    this.#input = input;
    this.#clock = clock;
    this.#substitutes = substitutes;
    this.#crashes = crashes;
    this.#used = used;
    this.#signals = signals;
    this.#cancelAfter = cancelAfter;
    this.#journal = new MemoryJournal(clock);
    this.#invocations = new MemoryInvocations(invokes, runChild, runId);
    this.#runId = runId;
    this.#above = above;
  }

  get steps(): readonly RunStep[] {
    return this.#journal.steps;
  }

  get effects(): ReadonlyMap<string, number> {
    return this.#substitutes.effects;
  }

  get seen(): ReadonlySet<string> {
    return this.#substitutes.seen;
  }

  get isCancelled(): boolean {
    return this.#cancelAfter !== undefined && this.steps.some(({ key }) => key === this.#cancelAfter);
  }

  /** How the run has ended, if the service has ended it: from then on, its executions only undo its steps. */
  get endToUndo(): End | null {
    if (this.isCancelled) return { status: "cancelled", result: null, error: null };
    return this.#failed && { status: "failed", result: null, error: this.#failed };
  }

  /** Removes steps that its next attempt executes again. */
  forget(keys: readonly string[]): void {
    this.#journal.forget(keys);
  }

  /** Ends the run with an error. Null: its executions must first undo the steps that the program has not undone. */
  fail(error: RunError): End | null {
    if (this.#toUndo.length === 0) return { status: "failed", result: null, error };
    this.#failed = error;
    return null;
  }

  /** Whether the execution that only undoes was the last one. The service records the steps that it has not undone as failed. */
  endUndo(outcome: RunOutcome): boolean {
    if (outcome.outcome === "completed") return true;
    if (outcome.outcome !== "failed") return false;
    this.#failedUndos += 1;
    if (this.#failedUndos < UNDO_ATTEMPTS) return false;
    const error = { name: outcome.error_name, message: outcome.error };
    this.#journal.append(this.#toUndo.map((key) => ({ key: undoKey(key), type: "undo", status: "failed", error })));
    return true;
  }

  /** Keys of completed steps whose undo has no outcome, the last one first. */
  get #toUndo(): string[] {
    const isDone = (key: string) => this.steps.some((step) => step.key === undoKey(key));
    const left = this.steps.filter(({ key, undoable, status }) => undoable && status === "completed" && !isDone(key));
    return left.map(({ key }) => key).reverse();
  }

  /** Steps that could not be undone. */
  get undoErrors(): { readonly step: string; readonly message: string }[] {
    const failed = this.steps.filter(({ type, status }) => type === "undo" && status === "failed");
    return failed.map(({ key, error }) => ({ step: undoneBy(key), message: error?.message ?? "" }));
  }

  /** One execution, from the top. */
  async execute(replace: NonNullable<RunHost["replace"]> = this.#substitutes.replace): Promise<RunOutcome> {
    this.#journal.endRefused();
    this.#complete(this.#waits.filter((step) => this.#isReady(step)));
    const crash = new AbortController();
    const wasCancelled = this.isCancelled;
    this.isUndone = this.endToUndo !== null;
    let sent = this.progress.length;
    const store = async (steps: readonly ReportedStep[]): Promise<readonly string[]> => {
      loseSome(steps.map(({ key }) => key));
      this.#journal.checkRoom(steps);
      this.#append(steps);
      // Progress that was reported before is sent along.
      sent = this.progress.length;
      if (this.isCancelled && !wasCancelled) crash.abort(new RunAbortedError("cancelled"));
      else if (this.#crashes.areOn) crash.abort(new RunAbortedError(this.#crashes.cause));
      return steps.flatMap((step) => (this.#isReady(step) ? [step.key] : []));
    };
    const loseSome = (keys: readonly string[]): void => {
      if (!this.#crashes.losesSteps(keys)) return;
      crash.abort(new RunAbortedError(this.#crashes.cause));
      throw new Error("The execution has crashed.");
    };
    const sendEvent: RunHost["sendEvent"] = async (step, event) => {
      loseSome([step.key]);
      this.#journal.checkRoom([{ key: step.key, type: "event", status: "completed" }]);
      const output = remember(outputOf(step.key, await replace(step, () => this.#sent(event))(SEND)), `step "${step.key}"`);
      await store([{ key: step.key, type: "event", status: "completed", output }]);
      return output;
    };
    const registerSignal: RunHost["registerSignal"] = async ({ key }, signal) => {
      loseSome([key]);
      this.#journal.checkRoom([{ key, type: "signal", status: "completed" }]);
      this.#journal.registerSignal(signal);
      this.#used.signals.add(signal);
      await store([{ key, type: "signal", status: "completed", output: { signal } }]);
      return { signal };
    };
    const invoke: RunHost["invoke"] = async (step, invocation) => {
      const { key } = step;
      loseSome([key]);
      this.#journal.checkRoom([{ key, type: "invoke", status: "waiting" }]);
      this.#checkDepth(invocation.workflow);
      this.#used.workflows.add(invocation.workflow);
      const mocked = outputOf(key, await replace(step, () => null)(SEND));
      const output = { runId: this.#invocations.add(key, invocation, remember(mocked, `step "${key}"`)) };
      await store([{ key, type: "invoke", status: "waiting", output, timeout: invocation.timeout }]);
      return output;
    };
    const { nowMs, wait, timer } = this.#clock;
    const deadline = virtualDeadlines(this.#clock);
    const values = { random: repeatableRandom, uuid: repeatableUuid };
    const host = { nowMs, wait, timer, deadline, ...values, misfitAfterMs: MISFIT_AFTER_MS, graceMs: GRACE_MS };
    let stuck: readonly string[] = [];
    this.#clock.onStuck = (keys) => {
      stuck = keys;
      crash.abort(new RunAbortedError("lease_lost"));
    };
    let failUnstopped: (error: Error) => void = () => {};
    const unstopped = new Promise<never>((_, reject) => {
      failUnstopped = reject;
    });
    const execution = executeRun(this.#workflow, this.#taken(), {
      ...host,
      onUnstopped: (key) => {
        failUnstopped(new Error(unstoppedStep(key)));
        crash.abort(new RunAbortedError("lease_lost"));
      },
      progress: (value) => this.#say(value),
      store,
      sendEvent,
      registerSignal,
      invoke,
      signal: crash.signal,
      onUnawaited: "fail",
      checksRaces: true,
      replace: (step, fn) => this.#timed(step.key, replace(step, fn)),
    });
    const outcome = await Promise.race([execution, unstopped]);
    if (stuck.length > 0) throw new Error(neverEnding(stuck));
    const { steps = [] } = outcome as { readonly steps?: readonly ReportedStep[] };
    const ended = steps.flatMap(({ key, status }) => (status === "waiting" ? [] : [key]));
    const isLost = ended.length > 0 ? this.#crashes.losesSteps(ended) : this.#crashes.losesOutcome(outcome.outcome, this.steps.length);
    const lost = (): RunOutcome => {
      this.progress.length = sent;
      return { outcome: "released" };
    };
    if (isLost) return lost();
    for (let from = 0; from < steps.length; from += LIMITS.reportedSteps) {
      const some = steps.slice(from, from + LIMITS.reportedSteps);
      if (!this.#journal.hasRoom(some)) return this.#endWithoutRoom(outcome, some);
      this.#append(some);
    }
    if (!this.#crashes.areOn || ended.length === 0) return outcome;
    return lost();
  }

  #append(steps: readonly ReportedStep[]): void {
    this.#journal.append(steps);
    for (const { signal } of steps) if (signal) this.#used.signals.add(signal);
  }

  /** Runs the function of a step by the virtual clock. */
  #timed(key: string, fn: StepFunction): StepFunction {
    return async (context) => {
      const { signal } = context;
      const result = await this.#clock.execute(signal, () => fn(context));
      return result === neverEnds ? this.#clock.neverEnd(key, signal) : result;
    };
  }

  /** Ends a run whose last steps do not fit, as the service does. A run that fails for good keeps its own error. */
  #endWithoutRoom(outcome: RunOutcome, steps: readonly ReportedStep[]): RunOutcome {
    const { attempts = DEFAULT_ATTEMPTS } = this.#workflow.options;
    if (outcome.outcome === "failed" && (outcome.retry === false || this.attempt >= attempts)) return outcome;
    const error = journalTooLargeError(steps);
    return { outcome: "failed", error: error.message, error_name: error.name, retry: false };
  }

  /** @throws {TidemillError} as the service does, when too many runs have invoked one another */
  #checkDepth(workflow: string): void {
    const workflows = [...this.#above, this.#workflow.id, workflow];
    const message = invokedTooDeep(workflows);
    if (message !== null)
      throw new TidemillError({ code: "CONFLICT", status: 409, message, details: { reason: "InvokedTooDeep", workflows } });
  }

  /** Whether a wait has its outcome at once: a signal that a step has registered is completed before the run waits for it. */
  #isReady({ key, signal }: { readonly key: string; readonly signal?: string | null }): boolean {
    if (signal === undefined || signal === null) return false;
    return this.#journal.isRefused(key) || (this.#journal.isRegistered(signal) && hasPayload(this.#signals, signal));
  }

  /** Leaves out progress that cannot be sent, as a worker does. */
  #say(value: unknown): void {
    try {
      this.progress.push(JSON.parse(progressText(value)));
    } catch {
      // A worker would warn in its log.
    }
  }

  #sent({ name, data, ts = this.#clock.nowMs() }: StepEvent): EventSent {
    this.events.push({ name, data, ts });
    return { eventId: `evt_test_${this.events.length}`, runIds: [] };
  }

  /** The steps that wait for signals. */
  get #waits(): RunStep[] {
    return this.steps.filter(({ status, signal }) => status === "waiting" && signal !== null);
  }

  /** Completes the signals of these waits for which the test has payloads. Returns whether there were any. */
  #complete(waits: readonly RunStep[]): boolean {
    const answered = waits.map((step) => ({ step, answer: answerTo(this.#signals, step.signal ?? "") }));
    const completed = answered.flatMap(({ step, answer }) => (answer?.kind === "payload" ? [{ step, ...answer }] : []));
    for (const { step, payload } of completed) this.#journal.answer(step, remember(payload, `the signal "${step.signal}"`, "payload"));
    return completed.length > 0;
  }

  /**
   * Responds to the calls, or completes the signals for which the test has payloads. If there are none, it ends the step that ends first.
   */
  async wake(): Promise<void> {
    if (this.#waits.some((step) => this.#isReady(step))) return;
    const { calls } = this.#journal;
    let hasEnded = false;
    for (const { step, call } of calls) {
      const outcome = this.#endless.has(step.key) ? null : await answerCall(step.key, call, this.#substitutes, this.#clock);
      if (outcome) this.#journal.endCall(step, outcome);
      else this.#endless.add(step.key);
      hasEnded ||= outcome !== null;
    }
    if (hasEnded) return;
    if (this.#complete(this.#waits)) return;
    const { next } = this.#journal;
    const invoked = next && (await this.#invocations.first(this.steps, momentMs(next.wakeAt ?? "")));
    if (invoked) this.#journal.endAt(invoked);
    else if (next && (next.signal === null || answerTo(this.#signals, next.signal)?.kind === "timesOut")) this.#journal.timeOut(next);
    else throw new Error(unanswered(next));
  }

  /**
   * Checks a run whose executions crashed: each step has had its effect only once, unless outcomes were lost, and a replay of the whole
   * journal returns the same and executes nothing.
   */
  async checkReplay(result: unknown): Promise<void> {
    if (!this.#crashes.areOn) return;
    const twice = !this.#crashes.repeatEffects && [...this.effects].find(([, times]) => times > 1 && this.attempt === 1);
    if (twice) throw new Error(`Step "${twice[0]}" was executed ${twice[1]} times.`);
    const said = this.progress.length;
    const replayed = await this.execute(({ key }) => () => {
      throw new Error(`Step "${key}" is not in the journal.`);
    });
    this.progress.length = said;
    const [expected, got] = [
      { outcome: "completed", result },
      { ...replayed, steps: undefined },
    ].map((one) => JSON.stringify(one));
    if (got !== expected) throw new Error(`The run ended as ${expected}, but a replay of its journal ended as ${got}.`);
  }

  #taken(): Parameters<typeof executeRun>[1] {
    const { id, options } = this.#workflow;
    const now = momentText(this.#clock.nowMs());
    const { version = null, attempts = DEFAULT_ATTEMPTS } = options;
    return {
      runId: this.#runId,
      workflowId: id,
      version,
      attempt: this.attempt,
      attempts,
      input: this.#input,
      trigger: { type: "api" },
      createdAt: now,
      journal: [...this.steps],
      ...(this.endToUndo && { undo: true }),
      lease_token: "test",
      lease_expires_at: now,
    };
  }
}

const neverEnding = (keys: readonly string[]): string =>
  `Step ${keys.map((key) => `"${key}"`).join(", ")} does not end, as its mock says, and the run waits for no sleep or timeout that could end beside it. Signals and calls by the service end when no step is in progress.`;

const unstoppedStep = (key: string): string =>
  `Step "${key}" is still running although its signal was aborted. The execution of the run cannot end before it. Let the step heed its signal, give it a timeout, or mock it.`;

/** The mock of a step that the service executes. */
function outputOf(key: string, mocked: unknown): unknown {
  if (mocked !== neverEnds) return mocked;
  throw new TypeError(`neverEnds is for step.run and step.http, and not for step "${key}".`);
}

function unanswered(step: RunStep | undefined): string {
  if (!step?.signal) return "The run waits for nothing that could end.";
  return `Step "${step.key}" waits for the signal "${step.signal}", which the test does not complete. Give its payload, or timesOut: { signals: { "${step.signal}": … } }.`;
}
