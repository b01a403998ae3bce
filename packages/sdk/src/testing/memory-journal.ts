import type { ReportedStep, RunStep } from "@tidemill/contract";
import { momentMs, momentText } from "../clock.ts";
import type { VirtualClock } from "./virtual-clock.ts";

/** The journal of a run, in memory. */
export class MemoryJournal {
  readonly #clock: VirtualClock;
  readonly #steps = new Map<string, RunStep>();

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  /** In the order of their outcomes; those that wait come last. */
  get steps(): RunStep[] {
    const all = [...this.#steps.values()];
    return [...all.filter(({ status }) => status !== "waiting"), ...all.filter(({ status }) => status === "waiting")];
  }

  /** A step that is in the journal is left as it is. */
  append(steps: readonly ReportedStep[]): void {
    for (const step of steps) if (!this.#steps.has(step.key)) this.#steps.set(step.key, this.#entry(step));
  }

  /** Ends the sleep that ends first. Returns false if there is none. */
  wakeNext(): boolean {
    const [first] = this.steps
      .filter(({ status, wakeAt }) => status === "waiting" && wakeAt !== null)
      .sort((a, b) => momentMs(a.wakeAt ?? "") - momentMs(b.wakeAt ?? ""));
    if (!first) return false;
    this.#clock.passUntil(momentMs(first.wakeAt ?? ""));
    this.#steps.delete(first.key);
    this.#steps.set(first.key, { ...first, status: "completed", endedAt: this.#now });
    return true;
  }

  get #now(): string {
    return momentText(this.#clock.nowMs());
  }

  #entry({ key, type, status, output, error, attempt, startedAt, sleepFor, sleepUntil }: ReportedStep): RunStep {
    return {
      key,
      type,
      status,
      output: output ?? null,
      error: error ?? null,
      attempt: attempt ?? 1,
      startedAt: startedAt ?? this.#now,
      endedAt: status === "waiting" ? null : this.#now,
      wakeAt: sleepUntil ?? (sleepFor === undefined ? null : momentText(this.#clock.nowMs() + sleepFor)),
    };
  }
}
