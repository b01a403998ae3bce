import type { Claim } from "#jobs";
import { type JobId, SharedCache } from "#kernel";
import type { LaneKey } from "#lanes";
import type { TextRedactor } from "#redaction";

/** A job that a worker holds, as its settle needs it. */
export interface HeldJob {
  readonly claim: Claim;
  /** The response that brought it last. */
  readonly response: symbol;
  readonly queue: string;
  /** Null when its payload has no secrets. */
  readonly redactor: TextRedactor | null;
}

const MAX_JOBS = 100_000;
/** The maximum length of secrets in the redactors that are kept. Characters. */
const MAX_SECRETS = 16 * 1024 * 1024;

/**
 * Jobs that this node sent to workers, so that their settles need no look-up. Any of them may be forgotten: the oldest of a workspace that
 * holds more than its share.
 */
export class HeldJobs {
  readonly #jobs = new SharedCache<JobId, Omit<HeldJob, "redactor"> & { readonly hasSecrets: boolean }>(MAX_JOBS);
  readonly #redactors = new SharedCache<JobId, TextRedactor>(MAX_SECRETS);

  /** @param secretLength the total length of the secrets that the redactor knows. Characters */
  add({ claim, response, queue, redactor }: HeldJob, secretLength: number): void {
    const { workspaceId, id } = claim;
    // The payload of a run is short, and its settle needs it.
    const payload = claim.kind === "run" ? claim.payload : "";
    this.#jobs.set(workspaceId, id, { claim: { ...claim, payload }, response, queue, hasSecrets: redactor !== null });
    if (redactor) this.#redactors.set(workspaceId, id, redactor, Math.max(1, secretLength));
  }

  get(id: JobId): HeldJob | undefined {
    const job = this.#jobs.get(id);
    const redactor = this.#redactors.get(id) ?? null;
    return job && (redactor || !job.hasSecrets) ? { ...job, redactor } : undefined;
  }

  /** Forgets the jobs of a lane, and returns their claims. */
  forgetLane({ workspaceId, laneId }: LaneKey): Claim[] {
    const claims = [...this.#jobs.valuesOf(workspaceId)].map(({ claim }) => claim).filter((claim) => claim.laneId === laneId);
    for (const { id } of claims) this.delete(id);
    return claims;
  }

  delete(id: JobId): void {
    this.#jobs.delete(id);
    this.#redactors.delete(id);
  }
}
