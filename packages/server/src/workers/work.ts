import type { ExtendRequest, ExtendResponse, Settled, WorkRequest } from "@tidemill/contract";
import { checkMayServe, mayServe, type OverLimit, type Principal } from "#http";
import { extendClaims, findCancelled, findHeldAmong, findTakenBy, type TakenRow } from "#jobs";
import { type Clock, type Db, isAway, type JobId, momentMs, problem, type Transactional, toMoment, type WorkspaceId } from "#kernel";
import { type LaneKind, laneNotFound } from "#lanes";
import {
  buildResponse,
  type ClaimedJob,
  claimsOf,
  type ResponseDeps,
  type ResponseOptions,
  releaseJobs,
  type WorkResponse,
  withoutCancelled,
} from "./build-response.ts";
import type { CodeVersions } from "./code-versions.ts";
import type { KnownWorker } from "./known-worker.ts";
import type { PolledLane, TakenJob } from "./poll.ts";
import type { Polls } from "./polls.ts";
import { servedAs, servedClaims } from "./served-claims.ts";
import { type SettleJobs, settleJobs } from "./settle-jobs.ts";
import { findLanes } from "./store.ts";
import { verifyLeaseTokens } from "./verify-lease-tokens.ts";
import { readWorkId, showWorkId } from "./work-id.ts";

const LEASE_SECONDS = 30;

export interface WorkDeps extends ResponseDeps, Omit<SettleJobs, keyof ResponseDeps> {
  readonly polls: Polls;
  readonly versions: CodeVersions;
  readonly clock: Pick<Clock, "nowMs" | "elapsedMs">;
}

/** How a call is limited. */
export interface CallBounds {
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
  /** Rejects if the caller is no longer allowed to call. */
  readonly authenticateAgain: () => Promise<void>;
  /** Set when the workspace has used up its requests: the worker may then report outcomes, but takes no jobs. */
  readonly overLimit: OverLimit | null;
  /** Counts what the response will hold. Bytes. */
  readonly hold: (bytes: number) => void;
}

/** What a call of a worker has led to. */
export interface WorkDone extends WorkResponse {
  readonly worker: KnownWorker;
  readonly settled: readonly Settled[];
  readonly cancelled: readonly string[];
  /** The minimum time that the call had waited before its jobs were claimed. Null: an earlier call took them. */
  readonly waitedMs: number | null;
}

/**
 * Settles what a worker has done, and takes jobs for it.
 *
 * @throws RATE_LIMITED; if there is nothing to settle: NOT_FOUND for a queue, INVALID_STATE for a queue that nodes serve, FORBIDDEN for a
 *   queue or workflow that the key is not bound to
 */
export async function work(
  deps: WorkDeps,
  principal: Principal,
  body: WorkRequest,
  { signal, authenticateAgain, overLimit, hold }: CallBounds,
): Promise<WorkDone> {
  const receivedMs = deps.clock.elapsedMs();
  const { workspaceId } = principal;
  const { queues = [], workflows = [], settle = [], limit = 1, lease = LEASE_SECONDS, wait = 0, request = null, repeat = true } = body;
  if (overLimit && (settle.length === 0 || !overLimit.mayReport())) throw overLimit.refuse();
  const mayBeRepeat = request !== null && repeat;
  const db = deps.tenants.of(workspaceId);
  // Outcomes are stored even if a queue was deleted: the call then takes no jobs, and the next call without outcomes is refused.
  const asked = overLimit ? [] : askedLanes(deps, db, principal, queues, workflows, body.version ?? "");
  const lanes = await Promise.resolve(asked).catch((error: unknown) => {
    if (settle.length === 0) throw error;
    return [];
  });
  const call = { workspaceId, name: body.worker, version: body.version ?? null, queues, workflows, seenAt: toMoment(deps.clock.nowMs()) };
  const worker = await deps.workers.calls(call);
  const asking = deps.versions.asks(
    lanes.filter(({ kind }) => kind === "workflow"),
    worker.leaseId,
  );
  // Outcomes are stored while the next jobs are claimed: each takes a round trip to the database.
  const settling = settleJobs(deps, db, workspaceId, settle, (job, name) => mayServe(principal, servedAs(job), name), {
    mayBeRepeat,
    version: body.version ?? null,
  });
  // It is awaited below, but code before that may fail first.
  settling.catch(() => {});
  await asking;
  const taken = mayBeRepeat ? await takenBefore(db, principal, worker, request) : [];
  // A waiting worker is notified immediately when a job is cancelled.
  const waiting = new AbortController();
  const stopWaiting = () => waiting.abort();
  worker.onCancelled.add(stopWaiting);
  signal.addEventListener("abort", stopWaiting, { once: true });
  if (signal.aborted) stopWaiting();
  try {
    const waitMs = worker.cancelled.size > 0 || settle.length > 0 ? 0 : Math.min(wait * 1_000, validMs(principal, deps.clock));
    const poll = { worker, keyId: principal.keyId, lanes, limit, leaseSeconds: lease, request, waitMs, signal: waiting.signal, hold };
    const isRepeat = taken.length > 0;
    if (isRepeat) holdOrRefuse(deps, workspaceId, taken, hold);
    const polling = isRepeat || lanes.length === 0 ? { claims: [], askedMs: receivedMs } : deps.polls.take(poll);
    // The key may have been revoked after the call was authenticated, but before that could end the poll.
    if (waitMs > 0) authenticateAgain().catch(stopWaiting);
    const { claims, askedMs } = await Promise.resolve(polling).catch((error: unknown) => {
      // A call with a name is repeated, and may have taken jobs. For a call without a name, the response at least reports the outcomes that
      // were stored.
      if (settle.length === 0 || request !== null || !isAway(error)) throw error;
      return { claims: [], askedMs: receivedMs };
    });
    const jobs = isRepeat ? taken.map((claim) => ({ claim, queue: claim.queue })) : withQueues(claims, lanes);
    const responded = await respond(deps, db, worker, jobs, settling, {
      version: body.version ?? null,
      purpose: isRepeat ? "repeat" : "first",
      hold,
    });
    return { ...responded, waitedMs: isRepeat ? null : askedMs - receivedMs };
  } finally {
    worker.onCancelled.delete(stopWaiting);
    signal.removeEventListener("abort", stopWaiting);
  }
}

/** How long a key is still valid. Jobs that a call takes after that could not be reported with the key. Milliseconds. */
const validMs = ({ expiresAt }: Principal, clock: Pick<Clock, "nowMs">): number =>
  expiresAt ? Math.max(0, momentMs(expiresAt) - clock.nowMs()) : Number.POSITIVE_INFINITY;

/** Jobs that an earlier call of the same name took for this worker, from queues that the key may serve. */
const takenBefore = async (db: Db, principal: Principal, { leaseId }: KnownWorker, request: string): Promise<TakenRow[]> =>
  (await findTakenBy(db, principal.workspaceId, leaseId, request)).filter((job) => mayServe(principal, servedAs(job), job.queue));

/**
 * What an earlier call took is held by this response as well.
 *
 * @throws UNAVAILABLE when responses that nobody takes fill the workspace's share
 */
function holdOrRefuse({ memory }: WorkDeps, workspaceId: WorkspaceId, taken: readonly TakenRow[], hold: CallBounds["hold"]): void {
  if (memory.roomFor(workspaceId) < 1) throw memory.refusal(workspaceId);
  hold(taken.reduce((sum, { payload }) => sum + payload.length, 0));
}

/** Jobs that were claimed are released if the response fails. */
async function respond(
  deps: WorkDeps,
  db: Transactional,
  worker: KnownWorker,
  jobs: readonly ClaimedJob[],
  settling: Promise<Settled[]>,
  giving: ResponseOptions,
): Promise<Omit<WorkDone, "waitedMs">> {
  const cancelled: string[] = [];
  try {
    const settled = await settling;
    const given = await buildResponse(deps, db, worker, jobs, giving);
    const claims = claimsOf(given);
    do cancelled.push(...(await takeCancelled(db, worker)));
    while (claims.some((claim) => worker.cancelled.has(showWorkId(claim))));
    return { ...withoutCancelled(deps, given, new Set(cancelled)), worker, settled, cancelled };
  } catch (error) {
    leaveCancelled(worker, cancelled);
    const claims = jobs.map(({ claim }) => claim);
    void releaseJobs(deps, worker, claims);
    throw error;
  }
}

function withQueues(claims: readonly TakenJob[], lanes: readonly PolledLane[]) {
  const queueOf = new Map(lanes.map(({ laneId, name }) => [laneId, name]));
  return claims.map((claim) => ({ claim, queue: queueOf.get(claim.laneId) ?? "" }));
}

/** @throws as `work` */
async function askedLanes(
  deps: WorkDeps,
  db: Db,
  principal: Principal,
  queues: readonly string[],
  workflows: readonly string[],
  version: string,
): Promise<PolledLane[]> {
  for (const queue of queues) checkMayServe(principal, "queue", queue);
  for (const workflow of workflows) checkMayServe(principal, "workflow", workflow);
  return [
    ...(await lanesOf(deps, db, principal.workspaceId, "queue", queues, "")),
    ...(await lanesOf(deps, db, principal.workspaceId, "workflow", workflows, version)),
  ];
}

/** The lanes of queues or workflows, looked up unless they were recently. */
async function lanesOf(
  { polls, versions, clock }: WorkDeps,
  db: Db,
  workspaceId: WorkspaceId,
  kind: Exclude<LaneKind, "http">,
  names: readonly string[],
  version: string,
): Promise<PolledLane[]> {
  const nowMs = clock.elapsedMs();
  const laneNames = names.map((name) => ({ kind, name, version }));
  const lanes = new Map(laneNames.map((one) => [one.name, polls.lanes.fresh(workspaceId, one, nowMs)]));
  const unknown = laneNames.filter(({ name }) => !lanes.get(name));
  const lookUp = async () => {
    const wanted = unknown.map(({ name }) => name);
    const found = new Map((await findLanes(db, workspaceId, kind, wanted)).map((one) => [one.name, one]));
    for (const one of unknown) {
      const { name } = one;
      const lane = found.get(name);
      if (!lane) throw await laneNotFound(db, workspaceId, kind, name);
      if (lane.served !== "pull") throw kind === "queue" ? servedByNodes(name) : servedByEndpoint(name);
      if (kind === "workflow") versions.check(lane.laneId, name, version);
      lanes.set(name, polls.lanes.found(lane, one, nowMs));
    }
  };
  if (unknown.length > 0) await polls.lanes.lookUpAgain(workspaceId, unknown, nowMs, lookUp);
  return [...lanes.values()].filter((lane) => lane !== undefined);
}

const servedByEndpoint = (workflow: string) =>
  problem(
    "INVALID_STATE",
    { workflow },
    { message: `The workflow "${workflow}" has an endpoint_url: its runs are executed there, and workers cannot take them.` },
  );

const servedByNodes = (queue: string) =>
  problem(
    "INVALID_STATE",
    { queue },
    { message: `The queue "${queue}" has a callback_url: its jobs are delivered, and workers cannot take them.` },
  );

/** Extends the leases of jobs that a worker still works on, and waits for one of its jobs to be cancelled. */
export async function extend(
  deps: WorkDeps,
  principal: Principal,
  body: Omit<ExtendRequest, "worker">,
  signal: AbortSignal,
): Promise<ExtendResponse> {
  const { workspaceId } = principal;
  const db = deps.tenants.of(workspaceId);
  const { leases, lease, wait = 0 } = body;
  const verified = await servedClaims(db, principal, await verifyLeaseTokens(deps.workers, db, workspaceId, leases));
  const claims = verified.flatMap((one) => one?.claim ?? []);
  const extended = new Map(
    (claims.length > 0 ? await extendClaims(db, workspaceId, claims, lease ?? LEASE_SECONDS, lease !== undefined) : []).map((one) => [
      one.id,
      one.leaseUntil,
    ]),
  );
  const lost = claims.filter(({ id }) => !extended.has(id));
  const workers = new Set(verified.flatMap((one) => one?.worker ?? []));
  for (const { leaseId } of workers) deps.versions.isBusy(leaseId);
  const gone = new Set(lost.length > 0 ? await findCancelled(db, workspaceId, lost) : []);
  const cancelled = leases.flatMap(({ id }, index) => (gone.has(verified[index]?.claim.id as JobId) ? id : []));
  if (lost.length === 0 && wait > 0) await untilCancelled(workers, wait * 1_000, signal);
  // If the client is gone, the next call is notified.
  const notified = signal.aborted ? [] : await takeCancelledOf(db, workers);
  return {
    leases: leases.map(({ id }, index) => {
      const jobId = verified[index]?.claim.id;
      const until = jobId && extended.get(jobId);
      return { id, ok: until !== undefined, lease_expires_at: until ?? null };
    }),
    cancelled: [...new Set([...cancelled, ...notified.flat()])],
  };
}

/** Waits until a job of one of these workers is cancelled, or for `ms`. */
async function untilCancelled(workers: ReadonlySet<KnownWorker>, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || [...workers].some(({ cancelled }) => cancelled.size > 0)) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  for (const { onCancelled } of workers) onCancelled.add(resolve);
  await promise;
  clearTimeout(timer);
  for (const { onCancelled } of workers) onCancelled.delete(resolve);
}

/**
 * The jobs and runs that were cancelled while the worker held them. One response names each of them. A job that was retried and taken again
 * is left out: its attempt under way is not cancelled.
 */
async function takeCancelled(db: Db, worker: KnownWorker): Promise<string[]> {
  const { workspaceId, leaseId, cancelled } = worker;
  const ids = [...cancelled];
  cancelled.clear();
  if (ids.length === 0) return ids;
  const jobs = new Map(ids.map((id) => [id, readWorkId(id)]));
  const known = [...jobs.values()].filter((job) => job !== null);
  try {
    const held = new Set(await findHeldAmong(db, workspaceId, leaseId, known));
    return ids.filter((id) => !held.has(jobs.get(id) as JobId));
  } catch (error) {
    leaveCancelled(worker, ids);
    throw error;
  }
}

/** The same for several workers. If one fails, the next response also names the jobs of the others. */
async function takeCancelledOf(db: Db, workers: ReadonlySet<KnownWorker>): Promise<string[][]> {
  const all = [...workers];
  const taken = await Promise.allSettled(all.map((worker) => takeCancelled(db, worker)));
  const failed = taken.find((one) => one.status === "rejected");
  if (!failed) return taken.map((one) => (one.status === "fulfilled" ? one.value : []));
  for (const [at, one] of taken.entries()) if (one.status === "fulfilled") leaveCancelled(all[at] as KnownWorker, one.value);
  throw failed.reason;
}

/** Leaves these jobs for the next response to name. */
function leaveCancelled({ cancelled }: KnownWorker, ids: readonly string[]): void {
  for (const id of ids) cancelled.add(id);
}

/** Releases jobs that a worker did not get, unless it has repeated its call and got them in another response. */
export function undo(deps: WorkDeps, { worker, cancelled, ...given }: Omit<WorkDone, "settled" | "waitedMs">): Promise<void> {
  leaveCancelled(worker, cancelled);
  const { response } = given;
  const lost = claimsOf(given).filter(({ id }) => (deps.held.get(id)?.response ?? response) === response);
  return releaseJobs(deps, worker, lost);
}
