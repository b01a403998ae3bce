import type { RunStep } from "@tidemill/contract";
import type { AbortCause } from "../worker/errors.ts";

/** When executions end early in a test. */
export type CrashMode = "afterEveryStep" | "everywhere";

/** The state of a run in memory. */
export interface RunEnd {
  readonly status: string;
  readonly result: unknown;
  readonly steps: readonly RunStep[];
  /** How often each step has had its effect, by its key. */
  readonly effects: ReadonlyMap<string, number>;
  /** Names and keys of the steps that it has reached. */
  readonly seen: ReadonlySet<string>;
}

/** Decides where the executions of a test end early. */
export class Crashes {
  readonly #mode: CrashMode | undefined;
  /** Outcomes that were already lost once. */
  readonly #lost = new Set<string>();

  constructor(mode: CrashMode | undefined) {
    this.#mode = mode;
  }

  get areOn(): boolean {
    return this.#mode !== undefined;
  }

  /** Whether steps may have their effects more than once. */
  get repeatEffects(): boolean {
    return this.#mode === "everywhere";
  }

  /** At a worker's stop, other outcomes are still stored; after a crash they are not. */
  get cause(): AbortCause {
    return this.#mode === "everywhere" ? "lease_lost" : "shutdown";
  }

  /** Whether an execution ends when these steps have had their effects, and before they are stored. */
  losesSteps(keys: readonly string[]): boolean {
    return this.#losesOnce(...keys.map((key) => `step ${key}`));
  }

  /** Whether the outcome of an execution is lost before the service has it. */
  losesOutcome(outcome: string, storedSteps: number): boolean {
    return (outcome === "completed" || outcome === "suspended") && this.#losesOnce(`${outcome} ${storedSteps}`);
  }

  #losesOnce(...what: readonly string[]): boolean {
    if (this.#mode !== "everywhere" || what.every((one) => this.#lost.has(one))) return false;
    for (const one of what) this.#lost.add(one);
    return true;
  }
}

/**
 * The difference between a run without crashes and one with crashes, in words; null if there is none. If a step returned something else
 * when it was executed again, the runs cannot be compared. Without `everywhere`, neither can those whose steps ended in another order:
 * another step may have won a race.
 */
export function differenceAfterCrashes(mode: CrashMode, plain: RunEnd, crashed: RunEnd): string | null {
  const outputs = new Map(plain.steps.map((step) => [step.key, textOf(step)]));
  if (crashed.steps.some((step) => outputs.has(step.key) && outputs.get(step.key) !== textOf(step))) return null;
  const isReordered = plain.steps.some(({ key }, at) => crashed.steps[at] !== undefined && crashed.steps[at].key !== key);
  if (isReordered && mode !== "everywhere") return null;
  const missing = plain.steps.find(({ key, type, status }) => type === "run" && status === "completed" && !crashed.effects.has(key));
  if (missing) return `Step "${missing.key}" has not had its effect.`;
  const more = [...crashed.effects.keys()].find((key) => !plain.seen.has(key));
  if (more !== undefined) return `Without crashes, it does not reach step "${more}".`;
  const [result, other] = [plain, crashed].map((one) => JSON.stringify({ status: one.status, result: one.result }));
  return result === other ? null : `It ended as ${other}, and without crashes as ${result}.`;
}

const textOf = ({ status, output, error }: RunStep): string => JSON.stringify([status, output, error]);
