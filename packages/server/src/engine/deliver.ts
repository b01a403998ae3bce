import type { Claim } from "#jobs";
import type { EmitEvent } from "#kernel";
import type { AttemptResult } from "./judge.ts";
import type { Attempt, AttemptMemory, Deliverer, JobKinds } from "./kinds.ts";

/** A job of a kind that this node does not know waits this long for a newer node. Milliseconds. */
const UNKNOWN_KIND_MS = 30_000;

/** Starts an attempt. It always has a result, so that a job that cannot be delivered does not keep others of its claim from starting. */
export function deliver(kinds: JobKinds, claim: Claim, memory: AttemptMemory, emit: EmitEvent): Attempt {
  const kind = kinds.of(claim);
  if (!kind) {
    emit("job_kind_not_found", { jobId: claim.id, kind: claim.kind });
    return { result: Promise.resolve({ kind: "postponed", waitMs: UNKNOWN_KIND_MS }), abort: () => {} };
  }
  const attempt = startSafely(kind.deliverer, claim, memory);
  const result = attempt.result.catch((error: unknown): AttemptResult => {
    emit("delivery_crashed", { jobId: claim.id, error });
    return { kind: "unreachable", code: "CONNECTION", message: "The attempt could not be made." };
  });
  return { result, abort: () => attempt.abort() };
}

function startSafely(deliverer: Deliverer, claim: Claim, memory: AttemptMemory): Attempt {
  try {
    return deliverer.start(claim, memory);
  } catch (error) {
    return { result: Promise.reject(error), abort: () => {} };
  }
}
