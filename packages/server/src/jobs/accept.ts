import { type Db, type JobId, ProblemError, type Transactional, writeBatchOrEach } from "#kernel";
import type { LaneId } from "#lanes";
import { openQuotas, takeExecutions } from "#usage";
import { collectKeyClaims, deduplicate, type ResolvedJobs } from "./deduplicate.ts";
import { laneName } from "./distinct-lanes.ts";
import type { Duplicate, EnqueueOutcome } from "./outcome.ts";
import { recordOf } from "./record.ts";
import { type BatchRequest, outcomeOfRepeated } from "./repeated-batch.ts";
import {
  type BatchKeyClaim,
  claimBatchKeysAcrossWorkspaces,
  findBatchesAcrossWorkspaces,
  releaseBatchKeysAcrossWorkspaces,
} from "./store/batch-keys.ts";
import {
  claimKeysAcrossWorkspaces,
  type ExistingJob,
  findExistingAcrossWorkspaces,
  freeKeysAcrossWorkspaces,
  type KeyClaim,
  keyName,
  type LaneIdempotencyKey,
  releaseKeysAcrossWorkspaces,
} from "./store/idempotency-keys.ts";
import { type InsertedJob, type InsertRequest, insertJobsAcrossWorkspaces, type JobToInsert } from "./store/insert.ts";

/**
 * Thrown when claimed idempotency keys belong to jobs that no longer exist, or have expired. The keys are freed, and the transaction starts
 * again.
 */
class StaleKeys extends Error {
  override readonly name = "StaleKeys";
  readonly keys: readonly LaneIdempotencyKey[];

  constructor(keys: readonly LaneIdempotencyKey[]) {
    super("Idempotency keys belong to jobs that no longer exist.");
    this.keys = keys;
  }
}

/**
 * Writes requests in one transaction. A job with a known idempotency key is not stored: its outcome is the original job. A request over the
 * quota is refused before any of it is stored (I9), and leaves no idempotency key behind. All nodes take locks in one order, which prevents
 * deadlocks: idempotency keys, quotas (if `limited`), concurrency keys.
 *
 * If an earlier request of the same call has the same batch key, the batch waits for the next transaction: by then the earlier one has been
 * stored or refused.
 */
export async function acceptAcrossWorkspaces(
  database: Transactional,
  leaseId: number | null,
  requests: readonly InsertRequest[],
  limited: boolean,
): Promise<EnqueueOutcome[]> {
  const repeats = repeatsAmong(requests);
  if (repeats.size > 0) {
    const [first, later] = [requests.filter((request) => !repeats.has(request)), [...repeats]];
    const ofFirst = await acceptAcrossWorkspaces(database, leaseId, first, limited);
    // The first ones are stored, whatever happens to these.
    const acceptLater = (some: InsertRequest[]) => acceptAcrossWorkspaces(database, leaseId, some, limited);
    const ofLater = await writeBatchOrEach(later, acceptLater).catch((error: Error) => later.map(() => error));
    return requests.map((request) => (repeats.has(request) ? ofLater : ofFirst).shift() ?? null);
  }
  for (;;) {
    try {
      return await database.transaction((tx) => accept(tx, leaseId, requests, limited));
    } catch (error) {
      if (!(error instanceof StaleKeys)) throw error;
      await freeKeysAcrossWorkspaces(database, error.keys);
    }
  }
}

async function accept(tx: Db, leaseId: number | null, requests: readonly InsertRequest[], limited: boolean): Promise<EnqueueOutcome[]> {
  const claims = collectKeyClaims(requests);
  const { lanes, won } = await claimKeysAcrossWorkspaces(tx, requests, [...claims.values()]);
  const known = await findOrClaimBatches(tx, lanes, requests);
  // A request for a queue that does not exist uses no quota, and neither does a batch that was stored before.
  const present = requests.filter((request) => lanes.has(laneName(request)) && !known.has(request));
  const lost = [...claims].filter(([, claim]) => !won.has(claim.jobId) && lanes.has(laneName(claim)));
  const existing = lost.length > 0 ? await findExisting(tx, lanes, lost) : new Map<string, ExistingJob>();

  const workspaceIds = present.map(({ workspaceId }) => workspaceId);
  const quotas = limited ? await openQuotas(tx, workspaceIds) : null;
  const take = ({ workspaceId }: InsertRequest, executions: number) => quotas?.take({ workspaceId, executions }) ?? null;
  const { decided, owners } = deduplicate(present, existing, take);
  await quotas?.store();

  // Keys that were claimed for a job of a refused request. They go to the next job with the key, if there is one.
  const misplaced = [...claims].filter(([name, { jobId }]) => won.has(jobId) && owners.get(name)?.id !== jobId);
  if (misplaced.length > 0) {
    await releaseKeysAcrossWorkspaces(tx, inLanes(lanes, misplaced));
    const reassigned = misplaced.flatMap(([name, claim]) => {
      const owner = owners.get(name);
      return owner?.idempotency ? [{ ...claim, ...owner.idempotency, jobId: owner.id }] : [];
    });
    if (reassigned.length > 0) await claimKeysAcrossWorkspaces(tx, present, reassigned);
  }
  const refused = present.filter(({ batch }, at) => batch && decided[at] instanceof ProblemError);
  if (refused.length > 0) await releaseBatchKeysAcrossWorkspaces(tx, batchClaims(lanes, refused));
  const outcomes = await store(tx, leaseId, present, decided);
  return requests.map((request) => known.get(request) ?? outcomes.get(request) ?? null);
}

/** The requests whose batch has the same key as an earlier one of these requests. */
function repeatsAmong(requests: readonly InsertRequest[]): ReadonlySet<InsertRequest> {
  const names = new Set<string>();
  return new Set(
    requests.filter((request) => {
      const name = request.batch && keyName({ ...request, key: request.batch.key });
      return name !== undefined && (names.has(name) || !names.add(name));
    }),
  );
}

const batchClaims = (lanes: Lanes, requests: readonly InsertRequest[]): BatchKeyClaim[] =>
  requests.flatMap((request) => {
    const { workspaceId, jobs, batch } = request;
    const laneId = lanes.get(laneName(request));
    return batch && laneId !== undefined ? [{ workspaceId, laneId, ...batch, jobIds: jobs.map(({ id }) => id) }] : [];
  });

/**
 * Takes the keys of batches. Returns the outcomes of those whose key is known.
 *
 * @throws StaleKeys when a key expired between the two statements
 */
async function findOrClaimBatches(tx: Db, lanes: Lanes, requests: readonly InsertRequest[]): Promise<Map<InsertRequest, EnqueueOutcome>> {
  const asking = requests.filter((request): request is BatchRequest => request.batch !== undefined && lanes.has(laneName(request)));
  if (asking.length === 0) return new Map();
  const won = await claimBatchKeysAcrossWorkspaces(tx, batchClaims(lanes, asking));
  const lost = asking.filter(({ jobs: [first] }) => first && !won.has(first.id));
  if (lost.length === 0) return new Map();
  const found = await findBatchesAcrossWorkspaces(tx, batchClaims(lanes, lost));
  return new Map(
    lost.map((request, at) => {
      const stored = found[at];
      if (!stored) throw new StaleKeys([]);
      return [request, outcomeOfRepeated(request, stored)];
    }),
  );
}

type Lanes = ReadonlyMap<string, LaneId>;

const inLanes = (lanes: Lanes, claims: readonly [name: string, claim: KeyClaim][]): LaneIdempotencyKey[] =>
  claims.map(([, claim]) => ({ workspaceId: claim.workspaceId, laneId: lanes.get(laneName(claim)) as LaneId, key: claim.key }));

/** @throws StaleKeys */
async function findExisting(tx: Db, lanes: Lanes, lost: readonly [name: string, claim: KeyClaim][]): Promise<Map<string, ExistingJob>> {
  const keys = inLanes(lanes, lost);
  const found = await findExistingAcrossWorkspaces(tx, keys);
  const gone = keys.filter((_, index) => found[index] === null);
  if (gone.length > 0) throw new StaleKeys(gone);
  return new Map(lost.map(([name], index) => [name, found[index] as ExistingJob]));
}

/** Stores the new jobs. Returns the outcome of each request. */
async function store(
  tx: Db,
  leaseId: number | null,
  requests: readonly InsertRequest[],
  decided: readonly (ResolvedJobs | ProblemError)[],
): Promise<Map<InsertRequest, EnqueueOutcome>> {
  const fresh = requests.flatMap((request, at) => {
    const resolved = decided[at];
    const jobs = resolved instanceof ProblemError ? [] : request.jobs.filter((job, index) => job === resolved?.[index]);
    return jobs.length > 0 ? [{ ...request, jobs }] : [];
  });
  const inserted = fresh.length > 0 ? await insertJobsAcrossWorkspaces(tx, leaseId, fresh) : [];
  const stored = new Map<JobId, InsertedJob>();
  for (const [at, { jobs }] of fresh.entries())
    for (const [index, row] of (inserted[at] ?? []).entries()) stored.set(jobs[index]?.id as JobId, row);

  // The queue was deleted between the two statements.
  const gone = fresh.filter((_, at) => inserted[at] === null);
  if (gone.length > 0)
    await takeExecutions(
      tx,
      gone.map(({ workspaceId, jobs }) => ({ workspaceId, executions: -jobs.length })),
    );
  return new Map(requests.map((request, at) => [request, outcomeOf(request, decided[at] ?? [], stored)]));
}

function outcomeOf(
  { jobs }: InsertRequest,
  resolved: ResolvedJobs | ProblemError,
  stored: ReadonlyMap<JobId, InsertedJob>,
): EnqueueOutcome {
  if (resolved instanceof ProblemError) return resolved;
  const outcome: (InsertedJob | Duplicate)[] = [];
  for (const [index, original] of resolved.entries()) {
    const job = jobs[index] as JobToInsert;
    // Equal fingerprints mean equal payloads. If the payloads of duplicates were read from the database, they could be a thousand times
    // larger than what was sent.
    if ("record" in original) outcome.push({ original: { ...original.record, payload: job.payload } });
    else {
      const row = stored.get(original.id);
      if (!row) return null;
      outcome.push(original === job ? row : { original: { ...recordOf(original, row), payload: job.payload } });
    }
  }
  return outcome;
}
