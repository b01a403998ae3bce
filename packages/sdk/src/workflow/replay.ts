import { wait } from "../wait.ts";
import { JournalMismatchError } from "./errors.ts";
import { nextTurn } from "./event-loop.ts";
import { Execution } from "./execution.ts";
import { failureOf } from "./failure.ts";
import { liveHost } from "./host.ts";
import { remember } from "./remembered.ts";
import type { StepRequest } from "./requested-step.ts";
import type { ExecutedRun } from "./run-values.ts";
import { startProgram } from "./start-program.ts";
import type { AnyWorkflow } from "./workflow.ts";

/** How far a program came in a replay of a journal. */
export type Replay = HowFar & {
  /** Whether it was busy with something other than steps for too long, so that its next step is unknown. */
  readonly isBusy: boolean;
};

type HowFar =
  /** `asked`: all steps and values that it requested, in order. */
  | { readonly kind: "goesOn"; readonly asked: readonly StepRequest[] }
  | { readonly kind: "returned"; readonly asked: readonly StepRequest[]; readonly result: unknown }
  | { readonly kind: "threw"; readonly asked: readonly StepRequest[]; readonly error: unknown }
  /** The journal has a step that the code does not reach, or that has another type in the code. */
  | { readonly kind: "unfit"; readonly step: string; readonly reason: string };

export interface ReplaySettings {
  /** How long the program may be busy with something other than steps before it reaches a step. Milliseconds. */
  readonly patienceMs: number;
  /** Keys of further steps that it is expected to request after the journal. */
  readonly expected?: readonly string[];
}

const never = (): Promise<never> => new Promise(() => {});

/**
 * Calls the function of a workflow with a journal, and ends where the journal ends. No step is executed, and nothing is stored. Code outside
 * of steps runs. Never rejects.
 */
export async function replay(workflow: AnyWorkflow, run: ExecutedRun, { patienceMs, expected = [] }: ReplaySettings): Promise<Replay> {
  const host = liveHost({ store: never, sendEvent: never, registerSignal: never, invoke: never, signal: new AbortController().signal });
  const execution = new Execution(host, run.journal);
  let isBusy = false;
  const patience = new Patience(patienceMs, () => {
    isBusy = !execution.hasOpenSteps;
    execution.finish({ kind: "suspended" });
  });
  startProgram(workflow, execution, run);
  for (;;) {
    await nextTurn();
    execution.changes.seen();
    if (execution.end) break;
    if (execution.deliver()) continue;
    if (isThrough(execution, expected)) execution.finish({ kind: "suspended" });
    else patience.renew(execution.requests.length);
    await execution.changes.next();
  }
  patience.end();
  return { ...replayOf(execution), isBusy };
}

/** Whether the program has got through the journal, and waits for a step that is not in it. */
function isThrough(execution: Execution, expected: readonly string[]): boolean {
  if (!execution.isThroughJournal || (!execution.hasNewSteps && execution.waiting.size === 0)) return false;
  const keys = new Set(execution.requests.map(({ key }) => key));
  return expected.every((key) => keys.has(key));
}

function replayOf(execution: Execution): HowFar {
  const { end, journal, firstUnknown, requests: asked, awaitedThoughCancelled: stuck } = execution;
  const { firstUnreached } = journal;
  const unfit = ({ step, message }: JournalMismatchError): HowFar => ({ kind: "unfit", step, reason: message });
  if (end?.kind === "threw" && end.error instanceof JournalMismatchError) return unfit(end.error);
  if (firstUnreached !== undefined && end?.kind === "threw")
    return unfit(JournalMismatchError.threwBefore(firstUnreached, failureOf(end.error)));
  if (firstUnreached !== undefined) return unfit(JournalMismatchError.neverReached(firstUnreached, firstUnknown));
  if (end?.kind === "threw") return { kind: "threw", asked, error: end.error };
  if (end?.kind !== "returned" && stuck) return unfit(JournalMismatchError.cancelled(stuck.key));
  if (end?.kind !== "returned") return { kind: "goesOn", asked };
  try {
    return { kind: "returned", asked, result: remember(end.result, "the workflow") };
  } catch (error) {
    return { kind: "threw", asked, error };
  }
}

/** Calls back when nothing new has happened for a while. */
class Patience {
  readonly #ms: number;
  readonly #onOver: () => void;
  #seen = -1;
  #timer = new AbortController();

  constructor(ms: number, onOver: () => void) {
    this.#ms = ms;
    this.#onOver = onOver;
  }

  /** @param seen a number that grows when something happens */
  renew(seen: number): void {
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.end();
    this.#timer = new AbortController();
    void wait(this.#ms, this.#timer.signal).then(this.#onOver, () => {});
  }

  end(): void {
    this.#timer.abort();
  }
}
