import type { Settled, WorkRequest } from "@tidemill/contract";
import { mayServe, type OverLimit, type Principal } from "#http";
import { findTakenBy, type TakenRow } from "#jobs";
import { type Clock, type Db, isAway, momentMs, type Transactional, toMoment, type WorkspaceId } from "#kernel";
import { askedLanes } from "./asked-lanes.ts";
import {
  buildResponse,
  type ClaimedJob,
  claimsOf,
  type ResponseDeps,
  type ResponseOptions,
  type WorkResponse,
  withoutCancelled,
} from "./build-response.ts";
import { leaveCancelled, takeCancelled } from "./cancelled.ts";
import type { CodeVersions } from "./code-versions.ts";
import type { KnownWorker } from "./known-worker.ts";
import type { PolledLane, TakenJob } from "./poll.ts";
import type { Polls } from "./polls.ts";
import { releaseJobs } from "./release-jobs.ts";
import { servedAs } from "./served-claims.ts";
import { type SettleJobs, settleJobs } from "./settle-jobs.ts";
import { showWorkId } from "./work-id.ts";

/** How long a worker holds jobs if it does not say. */
export const LEASE_SECONDS = 30;

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
  const call = { workspaceId, name: body.worker, version: body.version ?? null, lanes, seenAt: toMoment(deps.clock.nowMs()) };
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

/** Releases jobs that a worker did not get, unless it has repeated its call and got them in another response. */
export function undo(deps: WorkDeps, { worker, cancelled, ...given }: Omit<WorkDone, "settled" | "waitedMs">): Promise<void> {
  leaveCancelled(worker, cancelled);
  const { response } = given;
  const lost = claimsOf(given).filter(({ id }) => (deps.held.get(id)?.response ?? response) === response);
  return releaseJobs(deps, worker, lost);
}
