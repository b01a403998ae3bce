import type { ReportedStep, RunError, RunStep, StepType } from "@tidemill/contract";
import { undoKey } from "@tidemill/contract/journal";
import { checkObject } from "../check-names.ts";
import { momentMs, momentText } from "../clock.ts";
import { TidemillError } from "../error.ts";
import type { StepOutcome } from "./attempt-step.ts";
import type { StepKey } from "./context.ts";
import {
  DuplicateStepError,
  HttpError,
  InvalidStepError,
  JournalMismatchError,
  NestedStepError,
  SignalTimeoutError,
  StepCancelledError,
  StepError,
} from "./errors.ts";
import { ExecutingSteps } from "./executing-steps.ts";
import { failureOf } from "./failure.ts";
import type { RunHost } from "./host.ts";
import { stepAround } from "./inside-step.ts";
import { invokeError } from "./invoke-errors.ts";
import { Journal } from "./journal.ts";
import { isJournalTooLarge } from "./not-stored.ts";
import { Outbox } from "./outbox.ts";
import { RequestedStep } from "./requested-step.ts";
import { collectsFailures, stepErrorsBehind } from "./step-errors-behind.ts";
import { StepKeys, stepBase } from "./step-keys.ts";
import { StepPromise } from "./step-promise.ts";
import { Changes } from "./turn.ts";
import type { Undo } from "./undo.ts";

/** How an execution ended. */
export type End =
  | { readonly kind: "returned"; readonly result: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "suspended" }
  | { readonly kind: "aborted" };

/** The service's name for the error of a wait that timed out. */
const SIGNAL_TIMEOUT = "SignalTimeoutError";
/** The service's name for the error of a call. */
const HTTP_ERROR = "HttpError";

/** The run is no longer this worker's. */
export const isLeaseLost = (error: unknown): boolean => error instanceof TidemillError && error.code === "LEASE_LOST";

/** Whether the program waits for a step that it had cancelled. */
export const awaitsCancelledStep = ({ cancelled }: Execution): boolean => [...cancelled].some((step) => step.isAwaited);

/** A step or value that a program has asked for. */
export interface StepRequest {
  readonly key: string;
  readonly type: StepType;
  /** The signal or event that the step concerns. */
  readonly about: string | undefined;
}

type Outcome = Pick<RunStep, "key" | "type" | "status"> & {
  readonly output?: unknown;
  readonly error?: RunStep["error"];
  readonly undoable?: boolean;
};

/** The error of a failed step. */
function stepErrorOf({ key, type, error, output }: Outcome): StepError {
  const failure = error ?? { name: "Error", message: "" };
  if (type === "invoke") return invokeError(key, failure, output);
  if (type === "wait" && failure.name === SIGNAL_TIMEOUT) return new SignalTimeoutError(key, failure.message);
  return type === "http" && failure.name === HTTP_ERROR ? new HttpError(key, failure) : new StepError(key, failure);
}

/** The steps of one execution: what the program has requested, and the outcomes. `drive` decides what happens next. */
export class Execution {
  readonly host: RunHost;
  readonly journal: Journal;
  readonly keys = new StepKeys();
  readonly outbox: Outbox;
  readonly executing: ExecutingSteps;
  readonly changes = new Changes();
  /** Steps that are not in the journal and have not begun, each with the function that begins it. */
  readonly notStarted = new Map<RequestedStep, () => void>();
  /** Waiting steps, each as it is to be stored; null: it is in the journal. */
  readonly waiting = new Map<RequestedStep, ReportedStep | null>();
  /** When waiting sleeps end. Milliseconds since 1970. */
  readonly sleepsUntil = new Map<RequestedStep, number>();
  /** Steps that the program has cancelled in an earlier execution, and requests again. It cancels them again. */
  readonly cancelled = new Set<RequestedStep>();
  /** What failed steps of this execution threw. */
  readonly thrown = new Map<string, unknown>();
  /** The undos of steps that the program has requested, by the keys of the steps. */
  readonly undos = new Map<string, Undo>();
  /** All requests of the program, in order. */
  readonly asked: StepRequest[] = [];
  /** Outcomes of this execution that the program may see. */
  readonly released: RunStep[] = [];
  end: End | null = null;
  readonly #steps = new Map<string, RequestedStep>();
  /** Failures that the program has seen, in order, each with the number of its requests and cancellations by then. */
  readonly #seenFailures = new Map<string, { readonly asked: number; readonly cancels: number }>();
  /** Keys of steps that the program has cancelled, in order. */
  readonly #cancels: string[] = [];
  /** Steps whose failures count only if the program goes on after them. */
  readonly #provisional = new Set<string>();
  /** Failures of steps that the program does not wait for yet. */
  readonly #unawaited = new Map<RequestedStep, ReportedStep>();
  readonly #byPromise = new WeakMap<object, RequestedStep>();
  /** Outcomes in the order of the journal; those before `#next` have been delivered. */
  readonly #outcomes: Outcome[];
  #next = 0;
  /** How many of these outcomes the journal had when the execution began. */
  readonly #remembered: number;

  constructor(host: RunHost, journal: readonly RunStep[]) {
    this.host = host;
    this.journal = new Journal(journal);
    this.#outcomes = this.journal.outcomes;
    this.#remembered = this.#outcomes.length;
    this.outbox = new Outbox(
      (steps) => host.store(steps),
      (step) => this.#release(step),
    );
    this.executing = new ExecutingSteps(host, (key, outcome) => this.#ended(key, outcome));
  }

  finish(end: End): void {
    this.end ??= end;
    this.changes.notify();
  }

  /**
   * Requests a step. Its promise stays pending if the execution ends first. A step or an undo that requests one would wait for it forever,
   * so it gets an error.
   *
   * @param prepare checks the arguments. The function that it returns is called if the journal does not have the step
   * @param about the signal or event that the step concerns
   */
  ask(type: StepType, name: string, options: StepKey, prepare: () => (step: RequestedStep) => void, about?: string): Promise<unknown> {
    try {
      this.#refuseInside(name);
      if (this.end) return new Promise(() => {});
      const begin = checked(name, () => {
        checkObject("The options of a step", options);
        return prepare();
      });
      const base = stepBase(name, options.key);
      const step = new RequestedStep(type, this.keys.open(base), base, () => this.#awaited(step));
      const remembered = this.journal.ask(step.key, type);
      this.asked.push({ key: step.key, type, about });
      this.#steps.set(step.key, step);
      this.#byPromise.set(step.promise, step);
      if (!remembered) begin(step);
      else if (remembered.status === "waiting") {
        this.wait(step, null);
        if (type === "sleep") this.sleepsUntil.set(step, momentMs(remembered.wakeAt ?? ""));
      } else if (remembered.status === "cancelled") this.cancelled.add(step);
      this.changes.notify();
      return step.promise;
    } catch (error) {
      return this.#refuse(error);
    }
  }

  /** Stores the undo of a step. A step that was refused has none. */
  undoWith(promise: object, undo: () => Undo): void {
    const step = this.#byPromise.get(promise);
    if (step) this.undos.set(step.key, undo());
  }

  hasRequested(key: string): boolean {
    return this.#steps.has(key);
  }

  /** Completed steps that are to be undone if the run ends without success: the last one first. */
  get toUndo(): { readonly key: string; readonly output: unknown }[] {
    const done = this.#outcomes.filter(
      ({ key, status, undoable }) => undoable && status === "completed" && !this.journal.has(undoKey(key)),
    );
    return done.map(({ key, output = null }) => ({ key, output })).reverse();
  }

  /** Whether the program has steps or outcomes of the journal before it, or the execution has ended. */
  get isReplaying(): boolean {
    return this.end !== null || this.journal.unreached > 0 || this.#next < this.#remembered;
  }

  /** Whether the program has got all outcomes, and has requested a step that has not begun. */
  get goesOn(): boolean {
    return this.notStarted.size > 0 && this.#next === this.#outcomes.length && this.journal.unreached === 0 && !awaitsCancelledStep(this);
  }

  /**
   * Keys of steps that have not completed, and that the program has neither awaited nor passed to `Promise.all`, `Promise.race` or
   * `step.race`. A run that such a step has started continues.
   */
  get unawaitedSteps(): string[] {
    const goesOn = (step: RequestedStep) => step.type === "invoke" && this.waiting.get(step) === null;
    const left = [...this.#steps.values()].filter((step) => !step.isAwaited && !goesOn(step));
    if (left.length === 0) return [];
    const completed = [...this.#outcomes, ...this.outbox.unsent].filter(({ status }) => status === "completed");
    const keys = new Set(completed.map(({ key }) => key));
    return left.flatMap(({ key }) => (keys.has(key) ? [] : [key]));
  }

  #awaited(step: RequestedStep): void {
    if (this.end) return;
    const failed = this.#unawaited.get(step);
    this.#unawaited.delete(step);
    if (failed) this.outbox.add(failed, { isProvisional: true });
    this.changes.notify();
  }

  /** Failures of steps that the program does not wait for yet. They count if it goes on, and a suspension counts as going on. */
  get unawaitedFailures(): ReportedStep[] {
    return [...this.#unawaited.values()];
  }

  wait(step: RequestedStep, reported: ReportedStep | null): void {
    this.waiting.set(step, reported);
    if (reported?.type !== "sleep") return;
    const { sleepUntil, sleepFor = 0 } = reported;
    this.sleepsUntil.set(step, sleepUntil === undefined ? this.host.nowMs() + sleepFor : momentMs(sleepUntil));
  }

  /** Ends a sleep whose time has come while other steps are in progress. */
  endSleep(step: RequestedStep): void {
    if (!this.waiting.has(step) || this.end) return;
    this.#forgetWait(step);
    this.outbox.remove(step.key);
    this.outbox.add({ key: step.key, type: "sleep", status: "completed" });
    this.changes.notify();
  }

  #forgetWait(step: RequestedStep): void {
    this.waiting.delete(step);
    this.sleepsUntil.delete(step);
  }

  /** Lets the service execute a step, when it is its turn among the outcomes to store. */
  call(type: "event" | "signal", key: string, call: () => Promise<unknown>): void {
    this.#addCall(type, key, async () => ({ status: "completed", output: await call() }));
  }

  /** Like `call`, for a step that then waits for what the service has started. */
  callAndWait(step: RequestedStep, call: () => Promise<unknown>): void {
    const { type, key } = step;
    this.#addCall(type, key, async () => {
      await call();
      // The journal has the step, even if the program has cancelled it meanwhile.
      if (step.hasEnded) this.outbox.add({ key, type, status: "cancelled" });
      else this.wait(step, null);
      return { status: "waiting" };
    });
  }

  #addCall(type: StepType, key: string, call: () => Promise<Pick<ReportedStep, "status" | "output">>): void {
    const reported = { key, type, attempt: 1, startedAt: momentText(this.host.nowMs()) } as const;
    this.outbox.addCall(key, async () => {
      try {
        return { step: { ...reported, ...(await call()) }, isStored: true };
      } catch (error) {
        if (this.host.signal.aborted || isLeaseLost(error) || isJournalTooLarge(error)) throw error;
        this.thrown.set(key, error);
        this.#provisional.add(key);
        return { step: { ...reported, status: "failed", error: refusalOf(error) }, isStored: false };
      }
    });
    this.changes.notify();
  }

  /** A value that a replay sees again. It is stored before the next step begins. */
  value(name: string, make: (key: string) => unknown, at: string): unknown {
    if (this.end) return make(name);
    this.#refuseInside(name);
    const key = this.keys.next(name);
    this.asked.push({ key, type: "value", about: undefined });
    try {
      const remembered = this.journal.ask(key, "value");
      if (remembered) return remembered.output;
    } catch (error) {
      this.finish({ kind: "threw", error });
    }
    const output = make(key);
    this.outbox.add({ key, type: "value", status: "completed", output, attempt: 1, startedAt: at });
    return output;
  }

  /**
   * Gives the program the next outcome, if it has requested that step. It gives one at a time, so that a replay sees them in the same
   * order.
   */
  deliver(): boolean {
    for (let outcome = this.#outcomes[this.#next]; outcome; outcome = this.#outcomes[this.#next]) {
      const step = this.#steps.get(outcome.key);
      if (!step) return false;
      this.#next += 1;
      if (step.hasEnded) continue;
      this.keys.close(step.base);
      if (outcome.status === "failed") {
        this.#seenFailures.delete(outcome.key);
        this.#seenFailures.set(outcome.key, { asked: this.asked.length, cancels: this.#cancels.length });
        step.reject(this.#errorOf(outcome));
      } else step.resolve(outcome.type === "sleep" ? undefined : copyOf(outcome.output));
      return true;
    }
    return false;
  }

  /** Cancels a step whose result is no longer needed, by its promise. */
  cancel(promise: object): void {
    const step = this.#byPromise.get(promise);
    if (!step || step.hasEnded || this.end) return;
    this.#cancels.push(step.key);
    const reason = new StepCancelledError(step.key);
    this.notStarted.delete(step);
    // One with undo may complete all the same, and must then be undone if the run fails.
    if (this.undos.has(step.key)) this.executing.abort(step.key, reason);
    else this.executing.cancel(step.key, reason);
    this.#unawaited.delete(step);
    const wasUnsent = this.outbox.remove(step.key);
    const isStored = this.waiting.get(step) === null ? !wasUnsent : this.journal.isWait(step.key);
    this.#forgetWait(step);
    this.cancelled.delete(step);
    // A call by the service continues.
    if (isStored && step.type !== "http") this.outbox.add({ key: step.key, type: step.type, status: "cancelled" });
    this.keys.close(step.base);
    step.reject(reason);
  }

  /** A replay would not reach a step that is requested inside the function of another. */
  #refuseInside(name: string): void {
    const outer = stepAround(this.host);
    if (outer === undefined) return;
    const error = new NestedStepError(name, outer);
    // Its outcome would hide the mistake from corrected code.
    this.executing.cancel(outer, error);
    this.finish({ kind: "threw", error });
    throw error;
  }

  #refuse(error: unknown): Promise<unknown> {
    // Caught, as by Promise.allSettled, it would hide that a step is not executed.
    if (error instanceof JournalMismatchError || error instanceof DuplicateStepError) {
      this.finish({ kind: "threw", error });
      return new Promise(() => {});
    }
    const { promise, reject } = StepPromise.open<unknown>(() => {});
    reject(error);
    return promise;
  }

  /**
   * The steps that a retry of the run executes again after it failed with `error`: the failures behind it and those after which the program
   * asked for nothing, and what it asked for and cancelled since the first of them. Failures that the program has not seen are executed
   * again, too. Of failures that an `AggregateError` collects, those before a step that has not failed stay: a replay would not come to
   * that step without them, and it must not be executed twice.
   */
  retrySteps(error: unknown): string[] {
    const behind = new Set(stepErrorsBehind(error).map(({ step }) => step));
    const isRepeatable = ({ key, type }: StepRequest) => type === "value" || this.#seenFailures.has(key) || this.#cancels.includes(key);
    const kept = collectsFailures(error) ? this.asked.findLastIndex((one) => !isRepeatable(one)) : -1;
    const failed = [...this.#seenFailures].filter(([key, { asked }]) => (behind.has(key) && asked > kept) || asked === this.asked.length);
    const unseen = this.#outcomes.slice(this.#next).flatMap(({ key, status }) => (status === "failed" ? [key] : []));
    const [, first] = failed[0] ?? [];
    if (!first) return unseen;
    const since = this.asked.slice(first.asked).map(({ key }) => key);
    return [...new Set([...failed.map(([key]) => key), ...since, ...this.#cancels.slice(first.cancels), ...unseen])];
  }

  /**
   * The steps that the run's next attempt executes again, even if their failures are stored (they are when another step ended after them).
   * These are the steps whose failures are not final, if the program has requested nothing since it saw them, and the steps that it has
   * cancelled since.
   */
  get stepsToRepeat(): string[] {
    const seen = [...this.#seenFailures].filter(([key, { asked }]) => this.#provisional.has(key) && asked === this.asked.length);
    const unseen = this.#outcomes.slice(this.#next).flatMap(({ key }) => (this.#provisional.has(key) ? [key] : []));
    const [, first] = seen[0] ?? [];
    return [...seen.map(([key]) => key), ...(first ? this.#cancels.slice(first.cancels) : []), ...unseen];
  }

  #ended(key: string, outcome: StepOutcome | null): void {
    // Of a step that the program has cancelled, only an effect counts.
    const isNeeded = !this.#steps.get(key)?.hasEnded || outcome?.reported.status === "completed";
    if (outcome && isNeeded) this.#report(outcome);
    this.changes.notify();
  }

  /** A failure that is not final counts only if the program goes on after it. It cannot have gone on before it waits for the step. */
  #report({ reported, thrown, isFinal }: StepOutcome): void {
    const hasFailed = reported.status === "failed";
    if (hasFailed) this.thrown.set(reported.key, thrown);
    if (hasFailed && !isFinal) this.#provisional.add(reported.key);
    const step = this.#steps.get(reported.key);
    if (hasFailed && !isFinal && step && !step.isAwaited) this.#unawaited.set(step, reported);
    else this.outbox.add(reported, { isProvisional: hasFailed && !isFinal });
  }

  #release(step: ReportedStep): void {
    if (step.status === "waiting" || step.status === "cancelled") return;
    this.released.push(rememberedStep(step));
    if (step.type === "value") return;
    this.#outcomes.push(step);
    this.changes.notify();
  }

  #errorOf(outcome: Outcome): StepError {
    const { key } = outcome;
    const made = stepErrorOf(outcome);
    const thrown = this.thrown.get(key);
    if (thrown instanceof Error && thrown.stack !== undefined) made.stack = thrown.stack;
    return made;
  }
}

/** A signal that is refused has the same error in `step.signal` and in `step.waitForSignal`. */
const SIGNAL_ERRORS: readonly unknown[] = ["SignalTakenError", "TooManySignalsError"];

/** The error of a step that the service has refused. */
function refusalOf(error: unknown): RunError {
  const failure = failureOf(error);
  const reason = error instanceof TidemillError ? error.details.reason : undefined;
  return SIGNAL_ERRORS.includes(reason) ? { ...failure, name: String(reason) } : failure;
}

/** The program may change the value that it gets. That must not change what is stored, passed to the undo, or replayed. */
const copyOf = (output: unknown): unknown => (typeof output === "object" && output !== null ? structuredClone(output) : output);

/** A step of this execution as a journal has it. */
const rememberedStep = ({
  key,
  type,
  status,
  output = null,
  error,
  attempt = 1,
  startedAt = "",
  undoable = false,
}: ReportedStep): RunStep => ({
  ...{ key, type, status, output, error: error ?? null, attempt, startedAt, undoable },
  ...{ endedAt: startedAt, wakeAt: null, signal: null },
});

/** Prepares a step. @throws {NonRetryableError} for invalid arguments: another attempt would pass the same */
function checked<Begin>(name: string, prepare: () => Begin): Begin {
  try {
    return prepare();
  } catch (error) {
    throw error instanceof TypeError || error instanceof RangeError ? new InvalidStepError(name, error) : error;
  }
}
