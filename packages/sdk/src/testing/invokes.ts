import type { RunError, RunStep } from "@tidemill/contract";
import { momentMs } from "../clock.ts";
import { failureOf } from "../workflow/failure.ts";
import type { Invocation } from "../workflow/invoke.ts";
import { remember } from "../workflow/remembered.ts";
import type { AnyWorkflow } from "../workflow/workflow.ts";
import { timesOut } from "./answers.ts";
import type { StepEnd } from "./memory-journal.ts";

/**
 * Results of invoked runs, by the ids of their workflows. A function is called with the input, and the run fails with what it throws.
 * `timesOut` lets the invocation time out. A workflow is run in memory, with the same settings.
 */
export type Invokes = Readonly<Record<string, unknown>>;

/** How an invoked run has ended, by the virtual clock. */
export interface ChildEnd {
  readonly result: unknown;
  readonly error: RunError | null;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** Runs a workflow in memory, from this moment of the virtual clock on. */
export type RunChild = (workflow: AnyWorkflow, input: unknown, runId: string, startMs: number) => Promise<ChildEnd>;

/** How and when a step that waits for a run ends. */
interface InvocationEnd {
  readonly step: RunStep;
  readonly atMs: number;
  readonly end: StepEnd;
}

/** The same, except that `end` may be null: the step times out, and the test did not ask for that. */
type FoundEnd = Omit<InvocationEnd, "end"> & { readonly end: StepEnd | null };

interface Invoked extends Invocation {
  /** What the step returns instead of invoking a run. Null: it invokes one. */
  readonly mocked: unknown;
}

/** What the steps of a run in memory have invoked. */
export class MemoryInvocations {
  readonly #invokes: Invokes;
  readonly #runChild: RunChild;
  readonly #runId: string;
  readonly #invoked = new Map<string, Invoked>();
  readonly #ends = new Map<string, FoundEnd>();

  constructor(invokes: Invokes, runChild: RunChild, runId: string) {
    this.#invokes = invokes;
    this.#runChild = runChild;
    this.#runId = runId;
  }

  /** Returns the id of the invoked run. */
  add(key: string, invocation: Invocation, mocked: unknown): string {
    this.#invoked.set(key, { ...invocation, mocked });
    return `${this.#runId}_${this.#invoked.size}`;
  }

  /**
   * The step that ends first, among these steps that wait for runs, if one ends by then.
   *
   * @param untilMs milliseconds since 1970
   * @throws for a run whose end the test does not define
   */
  async first(steps: readonly RunStep[], untilMs: number): Promise<InvocationEnd | null> {
    const ends: FoundEnd[] = [];
    for (const step of steps) if (step.type === "invoke" && step.status === "waiting") ends.push(await this.#endOf(step));
    const [first] = ends.sort((a, b) => a.atMs - b.atMs);
    if (!first || first.atMs > untilMs) return null;
    const { step, atMs, end } = first;
    if (end) return { step, atMs, end };
    throw new Error(unanswered(step, this.#invoked.get(step.key)?.workflow));
  }

  async #endOf(step: RunStep): Promise<FoundEnd> {
    const end = this.#ends.get(step.key) ?? (await this.#findEnd(step));
    this.#ends.set(step.key, end);
    return end;
  }

  async #findEnd(step: RunStep): Promise<FoundEnd> {
    const { workflow = "", input = null, mocked = null } = this.#invoked.get(step.key) ?? {};
    const { runId } = step.output as { readonly runId: string };
    const [startMs, timeoutMs] = [momentMs(step.startedAt), momentMs(step.wakeAt ?? "")];
    const ended = (atMs: number, end: StepEnd | null) => ({ step, atMs, end });
    if (mocked !== null) return ended(startMs, { status: "completed", output: mocked });
    if (!Object.hasOwn(this.#invokes, workflow)) return ended(timeoutMs, null);
    const { result, error, atMs } = await this.#answer(this.#invokes[workflow], input, runId, startMs);
    if (atMs >= timeoutMs) return ended(timeoutMs, failed("WorkflowTimeoutError", workflow, "did not end in time. It goes on."));
    if (error) return ended(atMs, { status: "failed", error: failureOfRun(workflow, error) });
    return ended(atMs, { status: "completed", output: { result, runId } });
  }

  async #answer(given: unknown, input: unknown, runId: string, startMs: number): Promise<ChildEnd> {
    if (isWorkflow(given)) return this.#runChild(given, input, runId, startMs);
    try {
      const result = typeof given === "function" ? await given(input) : given;
      if (result === timesOut) return { result: null, error: null, atMs: Number.POSITIVE_INFINITY };
      return { result: remember(result, "the invoked workflow"), error: null, atMs: startMs };
    } catch (error) {
      return { result: null, error: failureOf(error), atMs: startMs };
    }
  }
}

/** The message of the innermost run, as in the service: it does not repeat the messages of all runs in between. */
const failureOfRun = (workflow: string, { name, message }: RunError): RunError => ({
  name: "WorkflowFailedError",
  message: name === "WorkflowFailedError" ? message : `The run of "${workflow}" failed: ${name}: ${message}`,
});

/** Its output is the id of the run, as before. */
const failed = (name: string, workflow: string, what: string): StepEnd => ({
  status: "failed",
  error: { name, message: `The run of "${workflow}" ${what}` },
});

const unanswered = ({ key }: RunStep, workflow = "") =>
  `Step "${key}" waits for a run of "${workflow}", which the test does not run. Give its result, the workflow, or timesOut: { invokes: { "${workflow}": … } }.`;

const isWorkflow = (given: unknown): given is AnyWorkflow => typeof (given as AnyWorkflow | null | undefined)?.program === "function";
