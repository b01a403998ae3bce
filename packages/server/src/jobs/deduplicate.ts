import { type ProblemError, problem } from "#kernel";
import { type ExistingJob, type KeyClaim, keyName } from "./store/idempotency-keys.ts";
import type { InsertRequest, JobToInsert } from "./store/insert.ts";

/** For each job of a request, the job that the caller gets: the job itself when it is new, else the original with the same key. */
export type ResolvedJobs = readonly (JobToInsert | ExistingJob)[];

/** The first job with each idempotency key among the requests, by the name of the key. */
export function collectKeyClaims(requests: readonly InsertRequest[]): Map<string, KeyClaim> {
  const claims = new Map<string, KeyClaim>();
  for (const { workspaceId, queue, jobs } of requests) {
    for (const { id, idempotency } of jobs) {
      if (!idempotency) continue;
      const claim = { workspaceId, queue, ...idempotency, jobId: id };
      const name = keyName(claim);
      if (!claims.has(name)) claims.set(name, claim);
    }
  }
  return claims;
}

/**
 * Accepts or refuses whole requests, in their order. A job is a duplicate when its key belongs to an existing job or came earlier in
 * these requests. `take` must grant an execution for each new job. The keys of a refused request are free for later requests.
 *
 * @returns for each request its resolved jobs or the error that refuses it; and the new job that owns each key
 */
export function deduplicate(
  requests: readonly InsertRequest[],
  existing: ReadonlyMap<string, ExistingJob>,
  take: (request: InsertRequest, executions: number) => ProblemError | null,
): { decided: (ResolvedJobs | ProblemError)[]; owners: ReadonlyMap<string, JobToInsert> } {
  const owners = new Map<string, JobToInsert>();
  const decide = (request: InsertRequest): ResolvedJobs | ProblemError => {
    const own = new Map<string, JobToInsert>();
    const resolved: (JobToInsert | ExistingJob)[] = [];
    for (const [index, job] of request.jobs.entries()) {
      if (!job.idempotency) {
        resolved.push(job);
        continue;
      }
      const { key, fingerprint } = job.idempotency;
      const name = keyName({ ...request, key });
      const original = existing.get(name) ?? owners.get(name) ?? own.get(name);
      if (original && fingerprintIn(original) !== fingerprint) return problem("IDEMPOTENCY_MISMATCH", { idempotencyKey: key, index });
      if (!original) own.set(name, job);
      resolved.push(original ?? job);
    }
    const refusal = take(request, resolved.filter((job, index) => job === request.jobs[index]).length);
    if (refusal) return refusal;
    for (const [name, job] of own) owners.set(name, job);
    return resolved;
  };
  return { decided: requests.map(decide), owners };
}

const fingerprintIn = (job: JobToInsert | ExistingJob): string | undefined =>
  "record" in job ? job.fingerprint : job.idempotency?.fingerprint;
