import type { ReportedStep } from "@tidemill/contract";
import { LIMITS } from "@tidemill/contract/limits";
import { MAX_CHARACTERS } from "../batcher.ts";
import { refusedStep, withoutRefused } from "../workflow/not-stored.ts";
import type { Lease } from "./held-leases.ts";
import type { ProgressToSend } from "./progress-sender.ts";

/** How an attempt on a job, or an execution of a run, ended. For a run, it has the newest progress that was not sent before. */
export type Outcome = Ending & ProgressToSend;

type Ending =
  | {
      readonly outcome: "completed";
      /** JSON, made when the handler ended: the value that it returned may change later. */
      readonly result?: string;
      /** Only for a run. */
      readonly steps?: readonly ReportedStep[];
    }
  | Failed
  | { readonly outcome: "suspended"; readonly steps: readonly ReportedStep[] }
  | { readonly outcome: "unfit"; readonly step: string; readonly error: string }
  | {
      readonly outcome: "released";
      /** Seconds. */
      readonly retry_in?: number;
    };

interface Failed {
  readonly outcome: "failed";
  readonly error: string;
  /** Only for a run. */
  readonly error_name?: string;
  readonly retry?: boolean;
  /** Seconds. */
  readonly retry_in?: number;
  /** Only for a run. */
  readonly retry_steps?: readonly string[];
  readonly steps?: readonly ReportedStep[];
}

/** An outcome of a job, a run or a hook, to be reported. */
export interface WorkOutcome {
  readonly lease: Lease;
  readonly outcome: Outcome;
  /** The JSON that is sent. */
  readonly text: string;
}

export const workOutcome = ({ id, lease_token }: Lease, outcome: Outcome): WorkOutcome => ({
  lease: { id, lease_token },
  outcome,
  text: outcomeText(outcome, { id, lease_token }),
});

/** An outcome as JSON text. */
export function outcomeText(outcome: Outcome, of: object = {}): string {
  const { result, ...rest } = outcome as Extract<Outcome, { outcome: "completed" }>;
  const text = JSON.stringify({ ...of, ...rest });
  return result === undefined ? text : `${text.slice(0, -1)},"result":${result}}`;
}

/** What a worker holds. */
type Kind = "job" | "run" | "hook";

export const kindOf = ({ id }: Pick<Lease, "id">): Kind => (id.startsWith("run_") ? "run" : id.startsWith("hook_") ? "hook" : "job");

/** What happens to work that has not ended when its worker stops. A hook that has begun must not begin again: it fires once. */
export const atStop = (lease: Lease): Outcome =>
  kindOf(lease) === "hook" ? { outcome: "failed", error: "The worker stopped before the hook ended." } : { outcome: "released" };

/**
 * What is reported instead of an outcome that the service refuses: the outcome without what the handler or workflow wrote. Null if there is
 * nothing to leave out. A job whose result is refused has still succeeded. A run, whose result others need, fails for good. If one of its
 * steps is refused, the others are kept.
 *
 * @param message why it was refused
 */
export function withoutContent({ lease, outcome }: WorkOutcome, message: string | null): WorkOutcome | null {
  const rest = kindOf(lease) === "run" ? runWithoutContent(outcome, message ?? "") : jobWithoutContent(outcome);
  return rest && workOutcome(lease, rest);
}

function jobWithoutContent(outcome: Outcome): Outcome | null {
  if (outcome.outcome === "completed" && outcome.result !== undefined) return { outcome: "completed" };
  return outcome.outcome === "failed" ? withoutError(outcome, "The handler failed with an error that the service refused.") : null;
}

function runWithoutContent(outcome: Outcome, why: string): Outcome | null {
  const steps = ("steps" in outcome && outcome.steps) || [];
  const ofStep = refusedStep(steps, why);
  const others = withoutRefused(steps, why);
  const withOthers = others.length > 0 && { steps: others };
  const failed = (what: string): Outcome => {
    const error = ofStep ?? `The service refused ${what}: ${why.replace(/^settle\[\d+\]\./, "")}`;
    return { outcome: "failed", error: error.slice(0, LIMITS.workerErrorLength), error_name: "Error", retry: false, ...withOthers };
  };
  switch (outcome.outcome) {
    case "completed":
      return failed("the result of the workflow");
    case "suspended":
      return failed("the steps of the workflow");
    case "failed":
      return ofStep
        ? { ...withoutSteps(outcome), ...withOthers }
        : withoutError(outcome, "The workflow failed with an error that the service refused.");
    case "unfit":
    case "released":
      return null;
  }
}

const withoutSteps = ({ steps: _, ...failed }: Failed): Failed => failed;

function withoutError({ error, error_name, retry }: Failed, unreported: string): Failed | null {
  if (error === unreported) return null;
  return {
    outcome: "failed",
    error: unreported,
    ...(error_name !== undefined && { error_name: "Error" }),
    ...(retry === false && { retry }),
  };
}

/** Outcomes that wait to be reported. */
export class Outcomes {
  #waiting: WorkOutcome[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  add(outcome: WorkOutcome): void {
    this.#waiting.push(outcome);
  }

  /** Takes as many outcomes as one call may report, oldest first. */
  take(): WorkOutcome[] {
    let count = 0;
    let characters = 0;
    for (const { text } of this.#waiting) {
      characters += text.length;
      if (count === LIMITS.workJobs || (count > 0 && characters > MAX_CHARACTERS)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  clear(): void {
    this.#waiting = [];
  }
}
