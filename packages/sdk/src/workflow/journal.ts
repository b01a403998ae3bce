import type { ReportedStep, RunStep, StepType } from "@tidemill/contract";
import { JournalMismatchError } from "./errors.ts";

/** Steps that code may stop requesting: the step of a `run.patched(name)` whose old branch was removed. */
const PATCHED = "run.patched(";

export const patchKey = (name: string): string => `${PATCHED}${name})`;

/** The outcome of a step, of this execution or an earlier one. */
export type Outcome = Pick<RunStep, "key" | "type" | "status"> & {
  readonly output?: unknown;
  readonly error?: RunStep["error"];
  readonly undoable?: boolean;
};

/** A step of this execution as a journal has it. */
export const rememberedStep = ({
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

/** The outcomes of steps of earlier executions. */
export class Journal {
  readonly #steps: ReadonlyMap<string, RunStep>;
  readonly #unreached: Set<string>;

  constructor(steps: readonly RunStep[]) {
    this.#steps = new Map(steps.map((step) => [step.key, step]));
    const asked = steps.filter(({ key, type }) => type !== "undo" && !key.startsWith(PATCHED));
    this.#unreached = new Set(asked.map(({ key }) => key));
  }

  /** Outcomes that the program waits for, in the order in which they were stored. */
  get outcomes(): RunStep[] {
    return [...this.#steps.values()].filter(
      ({ type, status }) => type !== "value" && type !== "undo" && status !== "waiting" && status !== "cancelled",
    );
  }

  /** How many steps the program has not requested. */
  get unreached(): number {
    return this.#unreached.size;
  }

  /** The first one of them. */
  get firstUnreached(): string | undefined {
    const [first] = this.#unreached;
    return first;
  }

  /** Whether the service ends a step, and the step is not cancelled in the journal. */
  isWait(key: string): boolean {
    const step = this.#steps.get(key);
    return (step?.type === "sleep" || step?.type === "wait" || step?.type === "invoke") && step.status !== "cancelled";
  }

  has(key: string): boolean {
    return this.#steps.has(key);
  }

  find(key: string): RunStep | undefined {
    return this.#steps.get(key);
  }

  /** @throws {JournalMismatchError} if the step is remembered with another type */
  ask(key: string, type: StepType): RunStep | undefined {
    const step = this.#steps.get(key);
    if (step && step.type !== type) throw JournalMismatchError.otherType(key, step.type, type);
    this.#unreached.delete(key);
    return step;
  }
}
