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

  const found = await findBatchesAcrossWorkspaces(
    db,
    repeated.map(({ key }) => key),
  );
  // The key expired, or its queue was deleted, between the two statements.
  const again = repeated.filter((_, index) => found[index] === null);
  const later =
    again.length === 0
      ? []
      : await insertOrFindAcrossWorkspaces(
          db,
          leaseId,
          again.map(({ request }) => request),
        );
  for (const [index, { at }] of again.entries()) outcomes[at] = later[index] ?? null;
  for (const [index, { at, request }] of repeated.entries()) {
    const stored = found[index];
    if (stored) outcomes[at] = outcomeOfRepeated(request, stored);
  }
  return outcomes;
}

/** What the caller of a repeated batch gets: the jobs that were stored with the key, if it is the same batch. */
export function outcomeOfRepeated({ queue, jobs, batch }: BatchRequest, stored: StoredBatch): EnqueueOutcome {
  if (stored.fingerprint !== batch.fingerprint) return problem("IDEMPOTENCY_MISMATCH", { idempotencyKey: batch.key, index: null });
  const removed = stored.jobs.find(({ record }) => record === null);
  if (removed) return notFound({ resource: "job", id: showJobId(removed.id), queue });
  // Equal fingerprints mean equal payloads.
  return stored.jobs.flatMap(({ record }, index) => (record ? [{ original: { ...record, payload: jobs[index]?.payload ?? "null" } }] : []));
}
