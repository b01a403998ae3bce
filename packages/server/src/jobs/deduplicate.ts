import { type ProblemError, problem } from "#kernel";
import { type KeyClaim, type KnownJob, keyName } from "./store/idempotency-keys.ts";
import type { InsertRequest, JobToInsert } from "./store/insert.ts";

/** Which job each job of a request is: itself, when it is new; else the one that came with its key before it. */
export type Firsts = readonly (JobToInsert | KnownJob)[];

/** For each key among requests, by its name, the first job that came with it. */
export function claimsOf(requests: readonly InsertRequest[]): Map<string, KeyClaim> {
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
 * Decides on requests in their order, each whole: its jobs whose key is known, or came before, are duplicates; the others are new,
 * and `take` must have as many executions for them. A request that is refused leaves its keys to those after it.
 *
 * @returns for each request the jobs that its own are, or what it is refused with; and which new job each key is now of
 */
export function deduplicate(
  requests: readonly InsertRequest[],
  known: ReadonlyMap<string, KnownJob>,
  take: (request: InsertRequest, executions: number) => ProblemError | null,
): { decided: (Firsts | ProblemError)[]; owners: ReadonlyMap<string, JobToInsert> } {
  const owners = new Map<string, JobToInsert>();
  const decide = (request: InsertRequest): Firsts | ProblemError => {
    const own = new Map<string, JobToInsert>();
    const firsts: (JobToInsert | KnownJob)[] = [];
    for (const [index, job] of request.jobs.entries()) {
      if (!job.idempotency) {
        firsts.push(job);
        continue;
      }
      const { key, fingerprint } = job.idempotency;
      const name = keyName({ ...request, key });
      const first = known.get(name) ?? owners.get(name) ?? own.get(name);
      if (first && fingerprintIn(first) !== fingerprint) return problem("IDEMPOTENCY_MISMATCH", { idempotencyKey: key, index });
      if (!first) own.set(name, job);
      firsts.push(first ?? job);
    }
    const refusal = take(request, firsts.filter((first, index) => first === request.jobs[index]).length);
    if (refusal) return refusal;
    for (const [name, job] of own) owners.set(name, job);
    return firsts;
  };
  return { decided: requests.map(decide), owners };
}

const fingerprintIn = (first: JobToInsert | KnownJob): string | undefined =>
  "record" in first ? first.fingerprint : first.idempotency?.fingerprint;
