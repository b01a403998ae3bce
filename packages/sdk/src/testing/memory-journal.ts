import type { HttpCall, ReportedStep, RunError, RunStep } from "@tidemill/contract";
import { JOURNAL_TOO_LARGE_DETAILS, journalTooLargeError, MAX_JOURNAL, tooManySignals, UNDO_ROOM } from "@tidemill/contract/journal";
import { momentMs, momentText } from "../clock.ts";
import { TidemillError } from "../error.ts";
import type { CallOutcome } from "./answer-call.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** How a waiting step ends. */
export type StepEnd = Pick<RunStep, "status"> & Partial<Pick<RunStep, "output" | "error">>;

/** Errors of waits that timed out. They do not count towards the limit, so that even a full journal has room for them. */
const NOTHING_CAME: ReadonlySet<string> = new Set(["SignalTimeoutError", "WorkflowTimeoutError"]);

/** How much of the limit a step uses: its output or error, as JSON. */
function bytesOf({ status, output, error }: StepEnd): number {
  const value = status === "completed" ? output : error;
  return value === undefined ? 0 : new TextEncoder().encode(JSON.stringify(value)).length;
}

/** The journal of a run, in memory. It has the limits of the service. */
export class MemoryJournal {
  #bytes = 0;
  readonly #clock: VirtualClock;
  readonly #steps = new Map<string, RunStep>();
  readonly #calls = new Map<string, HttpCall>();
  /** Signals whose waits have not ended, and whether a step has registered them. */
  readonly #signals = new Map<string, { readonly isRegistered: boolean }>();
  /** Waits that may not have their signals, with the reasons. They fail when the next execution begins. */
  readonly #refused = new Map<string, RunError>();

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** Steps in the order of their outcomes; waiting steps come last. */
  get steps(): RunStep[] {
    const all = [...this.#steps.values()];
    return [...all.filter(({ status }) => status !== "waiting"), ...all.filter(({ status }) => status === "waiting")];
  }

  hasRoom(steps: readonly ReportedStep[]): boolean {
    const added = steps.filter(({ key }) => !this.#steps.has(key));
    const more = steps.every(({ type }) => type === "undo") ? UNDO_ROOM : { steps: 0, bytes: 0 };
    const refusals = [...this.#refusalsOf(added).values()].reduce((sum, error) => sum + bytesOf({ status: "failed", error }), 0);
    const bytes = added.reduce((sum, step) => sum + bytesOf(step), this.#bytes + refusals);
    return (
      added.length === 0 || (this.#steps.size + added.length <= MAX_JOURNAL.steps + more.steps && bytes <= MAX_JOURNAL.bytes + more.bytes)
    );
  }

  /** @throws {TidemillError} as the service does, when there is no room for them */
  checkRoom(steps: readonly ReportedStep[]): void {
    if (this.hasRoom(steps)) return;
    const { message } = journalTooLargeError(steps);
    throw new TidemillError({ code: "PAYLOAD_TOO_LARGE", status: 413, message, details: JOURNAL_TOO_LARGE_DETAILS });
  }

  /** @throws {TidemillError} as the service does, for one signal too many */
  registerSignal(signal: string): void {
    const refusal = tooManySignals(new Set(this.#signals.keys()), signal);
    if (refusal)
      throw new TidemillError({ code: "CONFLICT", status: 409, message: refusal.message, details: { signal, reason: refusal.name } });
    this.#signals.set(signal, { isRegistered: true });
  }

  /** The steps that wait for one signal too many, and why they fail. */
  #refusalsOf(steps: readonly ReportedStep[]): ReadonlyMap<string, RunError> {
    const awaited = new Set(this.#signals.keys());
    const refusals = new Map<string, RunError>();
    for (const { key, type, signal } of steps) {
      if (type !== "wait" || signal === undefined) continue;
      const refusal = tooManySignals(awaited, signal);
      if (refusal) refusals.set(key, refusal);
      else awaited.add(signal);
    }
    return refusals;
  }

  /** Whether a step has registered the signal, so that it may be completed before the run waits for it. */
  isRegistered(signal: string): boolean {
    return this.#signals.get(signal)?.isRegistered === true;
  }

  /** Whether a step waits for a signal that it may not have. */
  isRefused(key: string): boolean {
    return this.#refused.has(key);
  }

  #awaitSignal(key: string, signal: string): void {
    const refusal = tooManySignals(new Set(this.#signals.keys()), signal);
    if (refusal) {
      this.#refused.set(key, refusal);
      this.#bytes += bytesOf({ status: "failed", error: refusal });
    } else this.#signals.set(signal, this.#signals.get(signal) ?? { isRegistered: false });
  }

  /** A signal that a step has registered outlasts waits without an answer. */
  #leaveSignal({ key, signal }: RunStep): void {
    if (signal !== null && !this.#refused.has(key) && !this.#signals.get(signal)?.isRegistered) this.#signals.delete(signal);
  }

  /** Ends the waits that may not have their signals. Returns whether there were any. */
  endRefused(): boolean {
    const refused = this.steps.flatMap((step) => {
      const error = step.status === "waiting" && this.#refused.get(step.key);
      return error ? [{ step, error }] : [];
    });
    for (const { step, error } of refused) this.#end(step, { status: "failed", error }, 0);
    return refused.length > 0;
  }

  /**
   * A step that is in the journal stays as it is, unless it is cancelled, or is a sleep that has ended while other steps were in progress.
   */
  append(steps: readonly ReportedStep[]): void {
    for (const step of steps) {
      const stored = this.#steps.get(step.key);
      if (!stored) {
        this.#steps.set(step.key, this.#entry(step));
        this.#bytes += bytesOf(step);
        if (step.http) this.#calls.set(step.key, step.http);
        if (step.type === "wait" && step.signal !== undefined) this.#awaitSignal(step.key, step.signal);
      } else if (step.type === "sleep" && step.status === "completed") {
        if (stored.status === "waiting") this.#end(stored, { status: "completed" });
      } else if (step.status === "cancelled") {
        if (stored.status === "waiting") this.#leaveSignal(stored);
        this.#steps.set(step.key, { ...stored, status: "cancelled", output: null, error: null, endedAt: stored.endedAt ?? this.#now });
      }
    }
  }

  /** Removes those of these steps that have failed or were cancelled. */
  forget(keys: readonly string[]): void {
    for (const step of keys.flatMap((key) => this.#steps.get(key) ?? [])) {
      if (step.status !== "failed" && step.status !== "cancelled") continue;
      this.#steps.delete(step.key);
      if (step.status === "failed") this.#bytes -= bytesOf({ status: "failed", error: step.error });
    }
  }

  /** The steps that wait for calls, and these. */
  get calls(): { readonly step: RunStep; readonly call: HttpCall }[] {
    return this.steps.flatMap((step) => {
      const call = this.#calls.get(step.key);
      return call && step.status === "waiting" ? [{ step, call }] : [];
    });
  }

  /** The waiting step that ends first, unless the test ends another one before. */
  get next(): RunStep | undefined {
    return this.steps
      .filter(({ status, wakeAt }) => status === "waiting" && wakeAt !== null)
      .sort((a, b) => momentMs(a.wakeAt ?? "") - momentMs(b.wakeAt ?? ""))[0];
  }

  /** Ends a waiting step whose time has passed. */
  timeOut(step: RunStep): void {
    this.#clock.passUntil(momentMs(step.wakeAt ?? ""));
    if (step.type === "sleep") this.#end(step, { status: "completed" });
    else {
      this.#leaveSignal(step);
      const message = `The signal "${step.signal}" was not completed in time.`;
      this.#end(step, { status: "failed", error: { name: "SignalTimeoutError", message } });
    }
  }

  /** Ends a waiting step with the payload of its signal. */
  answer(step: RunStep, output: unknown): void {
    if (step.signal !== null) this.#signals.delete(step.signal);
    this.#end(step, { status: "completed", output });
  }

  /** Ends a waiting step with the outcome of its call. */
  endCall(step: RunStep, outcome: CallOutcome): void {
    this.#end(step, outcome);
  }

  /** Ends a waiting step at this moment. Milliseconds since 1970. */
  endAt({ step, atMs, end }: { readonly step: RunStep; readonly atMs: number; readonly end: StepEnd }): void {
    this.#clock.passUntil(atMs);
    this.#end(step, end);
  }

  /**
   * The step's place in the journal is that of its outcome. It fails if there is no room for the result that it has waited for.
   *
   * @param bytes the bytes to count, if they were not counted when the step began to wait
   */
  #end(step: RunStep, outcome: StepEnd, bytes = NOTHING_CAME.has(outcome.error?.name ?? "") ? 0 : bytesOf(outcome)): void {
    const fits = bytes === 0 || this.#bytes + bytes <= MAX_JOURNAL.bytes;
    const ended: StepEnd = fits ? outcome : { status: "failed", error: journalTooLargeError([step]) };
    this.#steps.delete(step.key);
    this.#steps.set(step.key, { ...step, ...ended, endedAt: this.#now });
    if (fits) this.#bytes += bytes;
  }

  get #now(): string {
    return momentText(this.#clock.nowMs());
  }

  #entry({ key, type, status, output, error, attempt, startedAt, sleepFor, sleepUntil, signal, timeout, undoable }: ReportedStep): RunStep {
    const waitsMs = sleepFor ?? timeout;
    return {
      key,
      type,
      status,
      output: output ?? null,
      error: error ?? null,
      attempt: attempt ?? 1,
      startedAt: startedAt ?? this.#now,
      endedAt: status === "waiting" ? null : this.#now,
      wakeAt: sleepUntil ?? (waitsMs === undefined ? null : momentText(this.#clock.nowMs() + waitsMs)),
      signal: signal ?? null,
      undoable: undoable ?? false,
    };
  }
}
