import type { NamedClaim } from "#jobs";
import type { Db, WorkspaceId } from "#kernel";
import type { KnownWorker } from "./known-worker.ts";
import type { KnownWorkers } from "./known-workers.ts";
import { claimOf, isSameSecret, type ReadToken, readLeaseToken } from "./lease-token.ts";
import { readWorkId } from "./work-id.ts";

/** A job that a worker names, and its claim if the token is right. */
export interface VerifiedClaim {
  readonly worker: KnownWorker;
  readonly claim: NamedClaim;
}

/** Checks the tokens of jobs. Null for a token that does not prove a claim of a worker of the workspace. */
export async function verifyLeaseTokens(
  workers: KnownWorkers,
  db: Db,
  workspaceId: WorkspaceId,
  jobs: readonly { readonly id: string; readonly lease_token: string }[],
): Promise<(VerifiedClaim | null)[]> {
  const tokens = jobs.map((job) => readLeaseToken(job.lease_token));
  const leases = new Set(tokens.flatMap((token) => token?.leaseId ?? []));
  const known = await workers.withLeases(db, workspaceId, leases);
  const right = new Map<KnownWorker, string>();
  return jobs.map(({ id }, index) => verified(id, tokens[index] ?? null, known, right));
}

/**
 * @param right secrets of this call that were already found correct. A caller who has sent the right secret learns nothing if their other
 * tokens are compared with `!==`
 */
function verified(
  id: string,
  token: ReadToken | null,
  known: ReadonlyMap<number, KnownWorker>,
  right: Map<KnownWorker, string>,
): VerifiedClaim | null {
  const jobId = readWorkId(id);
  const worker = token && known.get(token.leaseId);
  if (!token || !worker || jobId === null) return null;
  if (right.get(worker) !== token.secret) {
    if (!isSameSecret(worker.secret, token.secret)) return null;
    right.set(worker, token.secret);
  }
  return { worker, claim: claimOf(jobId, token) };
}
