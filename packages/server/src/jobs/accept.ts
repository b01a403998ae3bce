import { type Db, type JobId, ProblemError, type Transactional } from "#kernel";
import type { LaneId } from "#lanes";
import { openQuotas, takeExecutions } from "#usage";
import { claimsOf, deduplicate, type Firsts } from "./deduplicate.ts";
import { laneName } from "./distinct-lanes.ts";
import type { JobRow } from "./job.ts";
import { recordOf } from "./record.ts";
import {
  claimKeysAcrossWorkspaces,
  findKnownAcrossWorkspaces,
  freeKeysAcrossWorkspaces,
  type KeyClaim,
  type KnownJob,
  type LaneIdempotencyKey,
  releaseKeysAcrossWorkspaces,
} from "./store/idempotency-keys.ts";
import { type InsertedJob, type InsertRequest, insertJobsAcrossWorkspaces, type JobToInsert } from "./store/insert.ts";

/** A job that was not stored: `first` came with its idempotency key before it. */
interface Repeat {
  readonly first: JobRow;
}

/** What became of a request: of each of its jobs; or what it is refused with, or failed by; or null when its queue is not there. */
export type Outcome = readonly (InsertedJob | Repeat)[] | Error | null;

/** Keys are in the way whose jobs are gone: the transaction has to begin anew without them. */
class KeysInTheWay extends Error {
  override readonly name = "KeysInTheWay";
  readonly keys: readonly LaneIdempotencyKey[];

  constructor(keys: readonly LaneIdempotencyKey[]) {
    super("Keys are in the way whose jobs are gone.");
    this.keys = keys;
  }
}

/**
 * Writes requests in one transaction: a job whose idempotency key is known is answered with the job that came with it first, what
 * the quota does not allow is refused before anything of it is stored (I9), the others are stored. A refused request leaves no
 * key behind. All nodes lock in one order, so that none waits in a circle: idempotency keys, quotas (if `limited`), concurrency keys.
 */
export async function acceptAcrossWorkspaces(
  database: Transactional,
  leaseId: number | null,
  requests: readonly InsertRequest[],
  limited: boolean,
): Promise<Outcome[]> {
  for (;;) {
    try {
      return await database.transaction((tx) => accept(tx, leaseId, requests, limited));
    } catch (error) {
      if (!(error instanceof KeysInTheWay)) throw error;
      await freeKeysAcrossWorkspaces(database, error.keys);
    }
  }
}

async function accept(tx: Db, leaseId: number | null, requests: readonly InsertRequest[], limited: boolean): Promise<Outcome[]> {
  const claims = claimsOf(requests);
  const { lanes, won } = await claimKeysAcrossWorkspaces(tx, requests, [...claims.values()]);
  // A request for a queue that is not there takes nothing, and so costs no other its place.
  const present = requests.filter((request) => lanes.has(laneName(request)));
  const lost = [...claims].filter(([, claim]) => !won.has(claim.jobId) && lanes.has(laneName(claim)));
  const known = lost.length > 0 ? await findKnown(tx, lanes, lost) : new Map<string, KnownJob>();

  const workspaceIds = present.map(({ workspaceId }) => workspaceId);
  const quotas = limited ? await openQuotas(tx, workspaceIds) : null;
  const take = ({ workspaceId }: InsertRequest, executions: number) => quotas?.take({ workspaceId, executions }) ?? null;
  const { decided, owners } = deduplicate(present, known, take);
  await quotas?.store();

  const misplaced = [...claims].filter(([name, { jobId }]) => won.has(jobId) && owners.get(name)?.id !== jobId);
  if (misplaced.length > 0) {
    await releaseKeysAcrossWorkspaces(tx, inLanes(lanes, misplaced));
    const handedOn = misplaced.flatMap(([name, claim]) => {
      const owner = owners.get(name);
      return owner?.idempotency ? [{ ...claim, ...owner.idempotency, jobId: owner.id }] : [];
    });
    if (handedOn.length > 0) await claimKeysAcrossWorkspaces(tx, present, handedOn);
  }
  const outcomes = await store(tx, leaseId, present, decided);
  return requests.map((request) => outcomes.get(request) ?? null);
}

type Lanes = ReadonlyMap<string, LaneId>;

const inLanes = (lanes: Lanes, claims: readonly [name: string, claim: KeyClaim][]): LaneIdempotencyKey[] =>
  claims.map(([, claim]) => ({ workspaceId: claim.workspaceId, laneId: lanes.get(laneName(claim)) as LaneId, key: claim.key }));

/** @throws KeysInTheWay */
async function findKnown(tx: Db, lanes: Lanes, lost: readonly [name: string, claim: KeyClaim][]): Promise<Map<string, KnownJob>> {
  const keys = inLanes(lanes, lost);
  const found = await findKnownAcrossWorkspaces(tx, keys);
  const gone = keys.filter((_, index) => found[index] === null);
  if (gone.length > 0) throw new KeysInTheWay(gone);
  return new Map(lost.map(([name], index) => [name, found[index] as KnownJob]));
}

/** Stores what is new, and tells each request what its jobs are. */
async function store(
  tx: Db,
  leaseId: number | null,
  requests: readonly InsertRequest[],
  decided: readonly (Firsts | ProblemError)[],
): Promise<Map<InsertRequest, Outcome>> {
  const fresh = requests.flatMap((request, at) => {
    const firsts = decided[at];
    const jobs = firsts instanceof ProblemError ? [] : request.jobs.filter((job, index) => job === firsts?.[index]);
    return jobs.length > 0 ? [{ ...request, jobs }] : [];
  });
  const inserted = fresh.length > 0 ? await insertJobsAcrossWorkspaces(tx, leaseId, fresh) : [];
  const stored = new Map<JobId, InsertedJob>();
  for (const [at, { jobs }] of fresh.entries())
    for (const [index, row] of (inserted[at] ?? []).entries()) stored.set(jobs[index]?.id as JobId, row);

  // Their queue was deleted between the two statements.
  const gone = fresh.filter((_, at) => inserted[at] === null);
  if (gone.length > 0)
    await takeExecutions(
      tx,
      gone.map(({ workspaceId, jobs }) => ({ workspaceId, executions: -jobs.length })),
    );
  return new Map(requests.map((request, at) => [request, outcomeOf(request, decided[at] ?? [], stored)]));
}

function outcomeOf({ jobs }: InsertRequest, firsts: Firsts | ProblemError, stored: ReadonlyMap<JobId, InsertedJob>): Outcome {
  if (firsts instanceof ProblemError) return firsts;
  const outcome: (InsertedJob | Repeat)[] = [];
  for (const [index, first] of firsts.entries()) {
    const job = jobs[index] as JobToInsert;
    // Its fingerprint says that its payload is this one's. Read anew for each, payloads could be a thousand times what was sent.
    if ("record" in first) outcome.push({ first: { ...first.record, payload: job.payload } });
    else {
      const row = stored.get(first.id);
      if (!row) return null;
      outcome.push(first === job ? row : { first: { ...recordOf(first, row), payload: job.payload } });
    }
  }
  return outcome;
}
