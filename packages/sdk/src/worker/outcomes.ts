import type * as contract from "@tidemill/contract";

/** How an attempt ended. */
export type Outcome =
  | {
      readonly outcome: "completed";
      /** JSON, made when the handler ended: what it returned may change later. */
      readonly result?: string;
    }
  | { readonly outcome: "failed"; readonly error: string; readonly retry?: false; readonly retry_in?: number }
  | { readonly outcome: "released" };

/** An outcome of a job, to be reported. */
export interface JobOutcome {
  readonly job: Pick<contract.TakenJob, "id" | "lease_token">;
  readonly outcome: Outcome;
  /** As it is sent. JSON. */
  readonly text: string;
}

/** As many outcomes as the service takes in a call. */
const MAX_OUTCOMES = 500;
/** A character takes at most 3 bytes, and a call at most 16 MiB. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

export function jobOutcome({ id, lease_token }: JobOutcome["job"], outcome: Outcome): JobOutcome {
  const { result, ...rest } = outcome as Extract<Outcome, { outcome: "completed" }>;
  const text = JSON.stringify({ id, lease_token, ...rest });
  return { job: { id, lease_token }, outcome, text: result === undefined ? text : `${text.slice(0, -1)},"result":${result}}` };
}

/** What is reported in place of an outcome that the service refuses: without what the handler wrote. Null if there is nothing to leave out. */
export function withoutContent({ job, outcome }: JobOutcome): JobOutcome | null {
  if (outcome.outcome === "completed" && outcome.result !== undefined) return jobOutcome(job, { outcome: "completed" });
  if (outcome.outcome !== "failed" || outcome.error === UNREPORTED) return null;
  const { retry } = outcome;
  return jobOutcome(job, { outcome: "failed", error: UNREPORTED, ...(retry === false && { retry }) });
}

const UNREPORTED = "The handler failed with an error that the service refused.";

/** Outcomes that wait to be reported. */
export class Outcomes {
  #waiting: JobOutcome[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  add(outcome: JobOutcome): void {
    this.#waiting.push(outcome);
  }

  /** Takes as many as one call may report, oldest first. */
  take(): JobOutcome[] {
    let count = 0;
    let characters = 0;
    for (const { text } of this.#waiting) {
      characters += text.length;
      if (count === MAX_OUTCOMES || (count > 0 && characters > MAX_CHARACTERS)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  clear(): void {
    this.#waiting = [];
  }
}
