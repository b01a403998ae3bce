import type { ReportedStep, RunStep, StepType } from "@tidemill/contract";
import { undoKey } from "@tidemill/contract/journal";
import { checkObject } from "../check-names.ts";
import { momentMs, momentText } from "../clock.ts";
import type { StepOutcome } from "./attempt-step.ts";
import { Changes } from "./changes.ts";
import type { StepKey } from "./context.ts";
import { copyOf } from "./copy-of.ts";
import { DuplicateStepError, InvalidStepError, JournalMismatchError, NestedStepError, StepCancelledError } from "./errors.ts";
import { ExecutingSteps } from "./executing-steps.ts";
import { FailureLog } from "./failure-log.ts";
import type { RunHost } from "./host.ts";
import { stepAround } from "./inside-step.ts";
import { Journal, type Outcome, rememberedStep } from "./journal.ts";
import { isLeaseLost } from "./lease-lost.ts";
import { isJournalTooLarge } from "./not-stored.ts";
import { Outbox } from "./outbox.ts";
import { RequestedStep, type StepRequest } from "./requested-step.ts";
import { refusalOf, stepErrorOf } from "./step-error.ts";
import { StepKeys, stepBase } from "./step-keys.ts";
import { StepPromise } from "./step-promise.ts";
import type { Undo } from "./undo.ts";
import { WaitingSteps } from "./waiting-steps.ts";

/** How an execution ended. */
export type End =
  | { readonly kind: "returned"; readonly result: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "suspended" }
  /** It has no time for another step. */
  | { readonly kind: "yielded" }
  | { readonly kind: "aborted" };

/** The steps of one execution: what the program has requested, and the outcomes. `drive` decides what happens next. */
export class Execution {
  readonly host: RunHost;
  readonly journal: Journal;
  readonly outbox: Outbox;
  readonly executing: ExecutingSteps;
  readonly waiting: WaitingSteps;
  readonly failures: FailureLog;
  readonly changes = new Changes();
  readonly #keys = new StepKeys();
  readonly #steps = new Map<string, RequestedStep>();
  readonly #byPromise = new WeakMap<object, RequestedStep>();
  /** Steps that are not in the journal and have not begun, each with the function that begins it. */
  readonly #newSteps = new Map<RequestedStep, () => void>();
  readonly #cancelled = new Set<RequestedStep>();
  /** The undos of steps that the program has requested, by the keys of the steps. */
  readonly #undos = new Map<string, Undo>();
  readonly #requests: StepRequest[] = [];
  readonly #released: RunStep[] = [];
  /** Outcomes in the order of the journal; those before `#next` have been delivered. */
  readonly #outcomes: Outcome[];
  #next = 0;
  /** How many of these outcomes the journal had when the execution began. */
  readonly #remembered: number;
  #end: End | null = null;

  constructor(host: RunHost, journal: readonly RunStep[]) {
    this.host = host;
    this.journal = new Journal(journal);
    this.#outcomes = this.journal.outcomes;
    this.#remembered = this.#outcomes.length;
    this.outbox = new Outbox(
      async (steps) => this.waiting.setReady(await host.store(steps)),
      (step) => this.#release(step),
    );
    this.executing = new ExecutingSteps(host, (key, outcome) => this.#ended(key, outcome));
    this.waiting = new WaitingSteps(host.nowMs);
    this.failures = new FailureLog(this.#requests, () => this.#outcomes.slice(this.#next));
  }

  get end(): End | null {
    return this.#end;
  }

  finish(end: End): void {
    this.#end ??= end;
    this.changes.notify();
  }

  /** Ends the execution because outcomes could not be stored, even if the program has returned meanwhile. */
  failToStore(error: Error): void {
    if (this.#end?.kind === "returned") this.#end = null;
    this.finish({ kind: "threw", error });
  }

  /** All requests of the program, in order. */
  get requests(): readonly StepRequest[] {
    return this.#requests;
  }

  /** Key of the first requested step that is not in the journal. */
  get firstUnknown(): string | undefined {
    return this.#requests.find(({ key, type }) => type !== "value" && !this.journal.has(key))?.key;
  }

  /** Outcomes of this execution that the program may see. */
  get released(): readonly RunStep[] {
    return this.#released;
  }

  /** Steps that the program has cancelled in an earlier execution, and requests again. It cancels them again. */
  get cancelled(): ReadonlySet<RequestedStep> {
    return this.#cancelled;
  }

  /** A step that the program waits for although it had cancelled it. */
  get awaitedThoughCancelled(): RequestedStep | undefined {
    return [...this.#cancelled].find((step) => step.isAwaited);
  }

  /** Whether a step that the program has requested has no outcome. */
  get hasOpenSteps(): boolean {
    return this.#keys.hasOpen;
  }

  /** Whether the program has requested steps that are not in the journal and have not begun. */
  get hasNewSteps(): boolean {
    return this.#newSteps.size > 0;
  }

  /** Lets a step that is not in the journal begin when the program has gone through the journal. */
  beginLater(step: RequestedStep, begin: () => void): void {
    this.#newSteps.set(step, begin);
  }

  /** Whether no new step may begin: time runs short, and the execution has stored something, so that the next one gets further. */
  get mustYield(): boolean {
    return this.outbox.hasStored && this.host.shouldYield();
  }

  beginNewSteps(): void {
    for (const begin of this.#newSteps.values()) begin();
    this.#newSteps.clear();
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
      const step = new RequestedStep(type, this.#keys.open(base), base, () => this.#awaited(step));
      const remembered = this.journal.ask(step.key, type);
      this.#requests.push({ key: step.key, type, about });
      this.#steps.set(step.key, step);
      this.#byPromise.set(step.promise, step);
      if (!remembered) begin(step);
      else if (remembered.status === "waiting") {
        this.waiting.addStored(step, type === "sleep" ? momentMs(remembered.wakeAt ?? "") : null);
      } else if (remembered.status === "cancelled") this.#cancelled.add(step);
      this.changes.notify();
      return step.promise;
    } catch (error) {
      return this.#refuse(error);
    }
  }

  /** Stores the undo of a step. A step that was refused has none. */
  undoWith(promise: object, undo: () => Undo): void {
    const step = this.#byPromise.get(promise);
    if (step) this.#undos.set(step.key, undo());
  }

  /** The undo of a step that the program has requested. */
  undoOf(key: string): Undo | undefined {
    return this.#undos.get(key);
  }

  /** Whether the program has requested a step that it can undo. */
  get hasUndos(): boolean {
    return this.#undos.size > 0;
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

  /** Whether the program has requested all steps of the journal, and waits for none that it had cancelled. */
  get isThroughJournal(): boolean {
    return this.journal.unreached === 0 && this.awaitedThoughCancelled === undefined;
  }

  /** Whether the program has got all outcomes, and has requested a step that has not begun. */
  get goesOn(): boolean {
    return this.hasNewSteps && this.#next === this.#outcomes.length && this.isThroughJournal;
  }

  /**
   * Keys of steps that have not completed, and that the program has neither awaited nor passed to `Promise.all`, `Promise.race` or
   * `step.race`. A run that such a step has started continues.
   */
  get unawaitedSteps(): string[] {
    const goesOn = (step: RequestedStep) => step.type === "invoke" && this.waiting.isStored(step);
    const left = [...this.#steps.values()].filter((step) => !step.isAwaited && !goesOn(step));
    if (left.length === 0) return [];
    const completed = [...this.#outcomes, ...this.outbox.unsent].filter(({ status }) => status === "completed");
    const keys = new Set(completed.map(({ key }) => key));
    return left.flatMap(({ key }) => (keys.has(key) ? [] : [key]));
  }

  #awaited(step: RequestedStep): void {
    if (this.end) return;
    const failed = this.failures.takeHeld(step);
    if (failed) this.outbox.add(failed, { isProvisional: true });
    this.changes.notify();
  }

  /** Ends a sleep whose time has come while other steps are in progress. */
  endSleep(step: RequestedStep): void {
    if (!this.waiting.has(step) || this.end) return;
    this.waiting.remove(step);
    this.outbox.remove(step.key);
    this.outbox.add({ key: step.key, type: "sleep", status: "completed" });
    this.changes.notify();
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
      else this.waiting.addStored(step, null);
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
        this.failures.add(key, error, { isProvisional: true });
        return { step: { ...reported, status: "failed", error: refusalOf(error) }, isStored: false };
      }
    });
    this.changes.notify();
  }

  /** A value that a replay sees again. It is stored before the next step begins. */
  value(name: string, make: (key: string) => unknown, at: string): unknown {
    if (this.end) return make(name);
    this.#refuseInside(name);
    const key = this.#keys.next(name);
    this.#requests.push({ key, type: "value", about: undefined });
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
      this.#keys.close(step.base);
      if (outcome.status === "failed") {
        this.failures.see(outcome.key);
        step.reject(stepErrorOf(outcome, this.failures.thrownBy(outcome.key)));
      } else step.resolve(outcome.type === "sleep" ? undefined : copyOf(outcome.output));
      return true;
    }
    return false;
  }

  /** Cancels a step whose result is no longer needed, by its promise. */
  cancel(promise: object): void {
    const step = this.#byPromise.get(promise);
    if (!step || step.hasEnded || this.end) return;
    this.failures.cancel(step);
    const reason = new StepCancelledError(step.key);
    this.#newSteps.delete(step);
    // One with undo may complete all the same, and must then be undone if the run fails.
    if (this.#undos.has(step.key)) this.executing.abort(step.key, reason);
    else this.executing.cancel(step.key, reason);
    const wasUnsent = this.outbox.remove(step.key);
    const isStored = this.waiting.isStored(step) ? !wasUnsent : this.journal.isWait(step.key);
    this.waiting.remove(step);
    this.#cancelled.delete(step);
    // A call by the service continues.
    if (isStored && step.type !== "http") this.outbox.add({ key: step.key, type: step.type, status: "cancelled" });
    this.#keys.close(step.base);
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

  #ended(key: string, outcome: StepOutcome | null): void {
    // Of a step that the program has cancelled, only an effect counts.
    const isNeeded = !this.#steps.get(key)?.hasEnded || outcome?.reported.status === "completed";
    if (outcome && isNeeded) this.#report(outcome);
    this.changes.notify();
  }

  #report({ reported, thrown, isFinal }: StepOutcome): void {
    const isProvisional = reported.status === "failed" && !isFinal;
    if (reported.status === "failed") this.failures.add(reported.key, thrown, { isProvisional });
    const step = this.#steps.get(reported.key);
    if (isProvisional && step && !step.isAwaited) this.failures.hold(step, reported);
    else this.outbox.add(reported, { isProvisional });
  }

  #release(step: ReportedStep): void {
    if (step.status === "waiting" || step.status === "cancelled") return;
    this.#released.push(rememberedStep(step));
    if (step.type === "value") return;
    this.#outcomes.push(step);
    this.changes.notify();
  }
}

/** Prepares a step. @throws {NonRetryableError} for invalid arguments: another attempt would pass the same */
function checked<Begin>(name: string, prepare: () => Begin): Begin {
  try {
    return prepare();
  } catch (error) {
    throw error instanceof TypeError || error instanceof RangeError ? new InvalidStepError(name, error) : error;
  }
}
