import { type Db, notFound, problem } from "#kernel";
import { showJobId } from "./job.ts";
import type { EnqueueOutcome } from "./outcome.ts";
import { findBatchesAcrossWorkspaces, type StoredBatch } from "./store/batch-keys.ts";
import { type InsertRequest, insertBatchesAcrossWorkspaces } from "./store/insert.ts";

/** A batch with an idempotency key. */
export type BatchRequest = Required<InsertRequest>;

/**
 * Inserts batches by one statement. A batch whose idempotency key is known is not stored: its outcome is the batch that was stored with the
 * key.
 */
export async function insertOrFindAcrossWorkspaces(
  db: Db,
  leaseId: number | null,
  requests: readonly BatchRequest[],
): Promise<EnqueueOutcome[]> {
  const inserted = await insertBatchesAcrossWorkspaces(db, leaseId, requests);
  const repeated = requests.flatMap((request, at) => {
    const outcome = inserted[at];
    return outcome && "repeatedIn" in outcome
      ? [{ at, request, key: { workspaceId: request.workspaceId, laneId: outcome.repeatedIn, key: request.batch.key } }]
      : [];
  });
  const outcomes = inserted.map((outcome) => (outcome && "repeatedIn" in outcome ? null : outcome)) as EnqueueOutcome[];
  if (repeated.length === 0) return outcomes;

  // The others are stored, whatever happens to these.
  const known = await findRepeated(db, leaseId, repeated).catch((error: Error) => repeated.map(() => error));
  for (const [index, { at }] of repeated.entries()) outcomes[at] = known[index] ?? null;
  return outcomes;
}

interface Repeated {
  readonly request: BatchRequest;
  readonly key: Parameters<typeof findBatchesAcrossWorkspaces>[1][number];
}

async function findRepeated(db: Db, leaseId: number | null, repeated: readonly Repeated[]): Promise<EnqueueOutcome[]> {
  const found = await findBatchesAcrossWorkspaces(
    db,
    repeated.map(({ key }) => key),
  );
  // The key expired, or its queue was deleted, between the two statements.
  const again = repeated.filter((_, index) => !found[index]).map(({ request }) => request);
  const later = again.length === 0 ? [] : await insertOrFindAcrossWorkspaces(db, leaseId, again);
  return repeated.map(({ request }, index) => {
    const stored = found[index];
    return stored ? outcomeOfRepeated(request, stored) : (later.shift() ?? null);
  });
}

/** What the caller of a repeated batch gets: the jobs that were stored with the key, if it is the same batch. */
export function outcomeOfRepeated({ queue, jobs, batch }: BatchRequest, stored: StoredBatch): EnqueueOutcome {
  if (stored.fingerprint !== batch.fingerprint) return problem("IDEMPOTENCY_MISMATCH", { idempotencyKey: batch.key, index: null });
  const removed = stored.jobs.find(({ record }) => record === null);
  if (removed) return notFound({ resource: "job", id: showJobId(removed.id), queue });
  // Equal fingerprints mean equal payloads.
  return stored.jobs.flatMap(({ record }, index) => (record ? [{ original: { ...record, payload: jobs[index]?.payload ?? "null" } }] : []));
}
