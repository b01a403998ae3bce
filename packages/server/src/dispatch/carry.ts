import type { EmitEvent } from "#kernel";
import type { Claim } from "./claim.ts";
import type { Answer } from "./retry.ts";

/** An attempt under way. One that is aborted answers `withdrawn`. */
export interface Attempt {
  readonly answer: Promise<Answer>;
  abort(): void;
}

/** Starts attempts. The dispatcher knows when; this knows how. */
export interface Carrier {
  start(claim: Claim): Attempt;
  /** Ends attempts that take too long. Called every tenth of a second while there are any. */
  sweep(): void;
}

/** Starts an attempt that always has an answer: one job that cannot be carried must not cost the others of its claim their start. */
export function carry(carrier: Carrier, claim: Claim, emit: EmitEvent): Attempt {
  const attempt = startSafely(carrier, claim);
  const answer = attempt.answer.catch((error: unknown): Answer => {
    emit("callback_crashed", { jobId: claim.id, error });
    return { kind: "unreachable", code: "CONNECTION", message: "The callback could not be made." };
  });
  return { answer, abort: () => attempt.abort() };
}

function startSafely(carrier: Carrier, claim: Claim): Attempt {
  try {
    return carrier.start(claim);
  } catch (error) {
    return { answer: Promise.reject(error), abort: () => {} };
  }
}
