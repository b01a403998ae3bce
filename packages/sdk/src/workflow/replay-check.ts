import type { RunStep } from "@tidemill/contract";
import { NondeterminismError } from "./errors.ts";
import type { Execution } from "./execution.ts";
import { failureOf } from "./failure.ts";
import { remember } from "./remembered.ts";
import { type Replay, replay } from "./replay.ts";
import type { StepRequest } from "./requested-step.ts";
import type { ExecutedRun } from "./run-values.ts";
import type { AnyWorkflow } from "./workflow.ts";

/** How long a replay may be busy outside of steps. Milliseconds. */
const PATIENCE_MS = 1_000;
/** Journals with more steps are not replayed after each step: the time would grow with the square of their length. */
const MAX_STEPS = 200;
const MAX_SHOWN = 200;

/** Compares an execution with replays of its journal so far (development mode). */
export class ReplayCheck {
  readonly #workflow: AnyWorkflow;
  readonly #run: ExecutedRun;
  /** How many outcomes the last replay had. */
  #outcomes = 0;

  constructor(workflow: AnyWorkflow, run: ExecutedRun) {
    this.#workflow = workflow;
    this.#run = run;
  }

  /** Whether the program has got an outcome since the last replay. */
  isDue({ released }: Execution): boolean {
    return released.length > this.#outcomes;
  }

  /** Replays the journal so far. Returns how the replay differs from what the program has done. */
  async afterStep(execution: Execution): Promise<NondeterminismError | null> {
    const asked = [...execution.requests];
    const last = execution.released.at(-1)?.key;
    this.#outcomes = execution.released.length;
    const replayed = await this.#replay(execution, asked);
    return replayed && differenceOf(asked, replayed, last);
  }

  /** Replays the journal of a program that has returned. */
  async atReturn(execution: Execution, result: unknown): Promise<NondeterminismError | null> {
    const replayed = await this.#replay(execution, execution.requests);
    if (!replayed) return null;
    const differs = differenceOf(execution.requests, replayed, execution.released.at(-1)?.key);
    if (differs || replayed.kind !== "returned") return differs;
    const [first, again] = [remember(result, "the workflow"), replayed.result].map((one) => JSON.stringify(one));
    if (first === again) return null;
    return new NondeterminismError(null, `The workflow returned ${shown(first)}, and a replay returned ${shown(again)}.`);
  }

  /** Null: nothing can be compared. */
  async #replay({ released }: Execution, asked: readonly StepRequest[]): Promise<Replay | null> {
    const journal = journalOf(this.#run.journal, released);
    if (journal.length > MAX_STEPS) return null;
    const expected = asked.filter(({ type }) => type !== "value").map(({ key }) => key);
    const replayed = await replay(this.#workflow, { ...this.#run, journal }, { patienceMs: PATIENCE_MS, expected });
    return replayed.isBusy ? null : replayed;
  }
}

/** Outcomes of the execution come after those that it began with; waiting steps come last. */
function journalOf(before: readonly RunStep[], released: readonly RunStep[]): RunStep[] {
  const ended = new Set(released.map(({ key }) => key));
  const kept = before.filter(({ key }) => !ended.has(key));
  return [...kept.filter(({ status }) => status !== "waiting"), ...released, ...kept.filter(({ status }) => status === "waiting")];
}

function differenceOf(asked: readonly StepRequest[], replayed: Replay, last: string | undefined): NondeterminismError | null {
  const after = last === undefined ? "At its beginning" : `After step "${last}"`;
  if (replayed.kind === "unfit") return new NondeterminismError(replayed.step, `A replay does not reach step "${replayed.step}".`);
  const again = new Map(replayed.asked.map((one) => [one.key, one]));
  const known = new Set(asked.map(({ key }) => key));
  for (const one of asked) {
    const other = again.get(one.key);
    if (other && other.about === one.about && other.type === one.type) continue;
    if (other)
      return new NondeterminismError(one.key, `${after}, the workflow asked for ${textOf(one)}, and a replay asked for ${textOf(other)}.`);
    const instead = replayed.asked.find(({ key }) => !known.has(key));
    const did = instead ? `a replay asked for ${textOf(instead)}` : endOf(replayed);
    return new NondeterminismError(one.key, `${after}, the workflow asked for ${textOf(one)}, and ${did}.`);
  }
  return null;
}

const endOf = (replayed: Replay): string => {
  if (replayed.kind === "returned") return `a replay returned ${shown(JSON.stringify(replayed.result))}`;
  return replayed.kind === "threw" ? `a replay threw ${shown(failureOf(replayed.error).message)}` : "a replay did not";
};

const textOf = ({ key, type, about }: StepRequest): string =>
  `step "${key}"${type === "run" ? "" : ` (${type}${about === undefined ? "" : ` ${JSON.stringify(about)}`})`}`;

const shown = (text = "nothing"): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
