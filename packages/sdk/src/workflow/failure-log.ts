import type { ReportedStep } from "@tidemill/contract";
import type { Outcome } from "./journal.ts";
import type { RequestedStep, StepRequest } from "./requested-step.ts";
import { collectsFailures, stepErrorsBehind } from "./step-errors-behind.ts";

/** How much the program had done when it got a failure. */
interface DoneBefore {
  readonly requests: number;
  readonly cancels: number;
}

/**
 * The failures of an execution, and which of them count. A failure that is not final is provisional: it counts if the program goes on after
 * it, which means that it asks for something or is suspended. Otherwise the run's next attempt executes the step again (decision 76).
 */
export class FailureLog {
  readonly #requests: readonly StepRequest[];
  readonly #unseen: () => readonly Outcome[];
  /** What failed steps of this execution threw. */
  readonly #thrown = new Map<string, unknown>();
  readonly #provisional = new Set<string>();
  /** Provisional failures of steps that the program does not wait for yet: it cannot have gone on after them. */
  readonly #held = new Map<RequestedStep, ReportedStep>();
  /** Failures that the program has got, in order. */
  readonly #seen = new Map<string, DoneBefore>();
  /** Keys of steps that the program has cancelled, in order. */
  readonly #cancels: string[] = [];

  /**
   * @param requests all requests of the program so far, in order
   * @param unseen outcomes that the program has not got yet
   */
  constructor(requests: readonly StepRequest[], unseen: () => readonly Outcome[]) {
    this.#requests = requests;
    this.#unseen = unseen;
  }

  add(key: string, thrown: unknown, { isProvisional }: { readonly isProvisional: boolean }): void {
    this.#thrown.set(key, thrown);
    if (isProvisional) this.#provisional.add(key);
  }

  /** What a step of this execution threw. */
  thrownBy(key: string): unknown {
    return this.#thrown.get(key);
  }

  /** Keeps a failure until the program waits for the step. */
  hold(step: RequestedStep, failed: ReportedStep): void {
    this.#held.set(step, failed);
  }

  takeHeld(step: RequestedStep): ReportedStep | undefined {
    const failed = this.#held.get(step);
    this.#held.delete(step);
    return failed;
  }

  /** Failures of steps that the program does not wait for yet. */
  get held(): ReportedStep[] {
    return [...this.#held.values()];
  }

  /** Records that the program gets a failure. */
  see(key: string): void {
    this.#seen.delete(key);
    this.#seen.set(key, { requests: this.#requests.length, cancels: this.#cancels.length });
  }

  /** Records that the program cancels a step. */
  cancel(step: RequestedStep): void {
    this.#cancels.push(step.key);
    this.#held.delete(step);
  }

  /**
   * The steps that the run's next attempt executes again, even if their failures are stored (they are when another step ended after them).
   * These are the steps with provisional failures, if the program has requested nothing since it saw them, and the steps that it has
   * cancelled since.
   */
  get stepsToRepeat(): string[] {
    const seen = [...this.#seen].filter(([key, { requests }]) => this.#provisional.has(key) && requests === this.#requests.length);
    const unseen = this.#unseen().flatMap(({ key }) => (this.#provisional.has(key) ? [key] : []));
    const [, first] = seen[0] ?? [];
    return [...seen.map(([key]) => key), ...(first ? this.#cancels.slice(first.cancels) : []), ...unseen];
  }

  /**
   * The steps that a retry of the run executes again after it failed with `error`: the failures behind it and those after which the program
   * asked for nothing, and what it asked for and cancelled since the first of them. Failures that the program has not seen are executed
   * again, too. Of failures that an `AggregateError` collects, those before a step that has not failed stay: a replay would not come to
   * that step without them, and it must not be executed twice.
   */
  stepsToRetry(error: unknown): string[] {
    const behind = new Set(stepErrorsBehind(error).map(({ step }) => step));
    const cancelled = new Set(this.#cancels);
    const isRepeatable = ({ key, type }: StepRequest) => type === "value" || this.#seen.has(key) || cancelled.has(key);
    const kept = collectsFailures(error) ? this.#requests.findLastIndex((one) => !isRepeatable(one)) : -1;
    const isLast = ({ requests }: DoneBefore) => requests === this.#requests.length;
    const failed = [...this.#seen].filter(([key, before]) => (behind.has(key) && before.requests > kept) || isLast(before));
    const unseen = this.#unseen().flatMap(({ key, status }) => (status === "failed" ? [key] : []));
    const [, first] = failed[0] ?? [];
    if (!first) return unseen;
    const since = this.#requests.slice(first.requests).map(({ key }) => key);
    return [...new Set([...failed.map(([key]) => key), ...since, ...this.#cancels.slice(first.cancels), ...unseen])];
  }
}
