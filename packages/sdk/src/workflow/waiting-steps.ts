import type { ReportedStep } from "@tidemill/contract";
import { momentMs } from "../clock.ts";
import type { RequestedStep } from "./requested-step.ts";

/** The steps of an execution that wait for the service: sleeps, waits for signals, calls, and runs of other workflows. */
export class WaitingSteps {
  readonly #nowMs: () => number;
  /** Each as it is to be stored; null: it is in the journal, or on its way there. */
  readonly #steps = new Map<RequestedStep, ReportedStep | null>();
  /** When sleeps end. Milliseconds since 1970. */
  readonly #endsMs = new Map<RequestedStep, number>();

  /** Keys of waits whose outcomes are there. The next execution begins with them. */
  readonly #ready = new Set<string>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get size(): number {
    return this.#steps.size;
  }

  /** Whether the program waits for one of them. */
  get isAwaited(): boolean {
    return [...this.#steps.keys()].some((step) => step.isAwaited);
  }

  /** Whether the program waits for one whose outcome is there. */
  get isReady(): boolean {
    return this.#ready.size > 0 && [...this.#steps.keys()].some((step) => step.isAwaited && this.#ready.has(step.key));
  }

  setReady(keys: readonly string[]): void {
    for (const key of keys) this.#ready.add(key);
  }

  has(step: RequestedStep): boolean {
    return this.#steps.has(step);
  }

  /** Whether it is in the journal, or on its way there. */
  isStored(step: RequestedStep): boolean {
    return this.#steps.get(step) === null;
  }

  /** Adds a step that is not in the journal. */
  add(step: RequestedStep, reported: ReportedStep): void {
    this.#steps.set(step, reported);
    if (reported.type !== "sleep") return;
    const { sleepUntil, sleepFor = 0 } = reported;
    this.#endsMs.set(step, sleepUntil === undefined ? this.#nowMs() + sleepFor : momentMs(sleepUntil));
  }

  /**
   * Adds a step that is in the journal.
   *
   * @param endsMs when it ends, if it is a sleep. Milliseconds since 1970
   */
  addStored(step: RequestedStep, endsMs: number | null): void {
    this.#steps.set(step, null);
    if (endsMs !== null) this.#endsMs.set(step, endsMs);
  }

  remove(step: RequestedStep): void {
    this.#steps.delete(step);
    this.#endsMs.delete(step);
  }

  /** The steps that are not stored. */
  get unstored(): ReportedStep[] {
    return [...this.#steps.values()].filter((reported) => reported !== null);
  }

  /** Whether a wait for a signal is not stored. */
  get hasNewWaits(): boolean {
    return this.unstored.some(({ type }) => type === "wait");
  }

  /** The steps that are not stored. From then on, they count as stored. */
  takeUnstored(): ReportedStep[] {
    const { unstored } = this;
    for (const step of this.#steps.keys()) this.#steps.set(step, null);
    return unstored;
  }

  /** Sleeps that are stored, each with its end. Milliseconds since 1970. */
  get storedSleeps(): (readonly [RequestedStep, number])[] {
    return [...this.#endsMs].filter(([step]) => this.isStored(step));
  }
}
