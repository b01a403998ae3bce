import { setTimeout as wait } from "node:timers/promises";
import type { LastError } from "@tidemill/contract";
import { type Claim, type ExpiredClaim, endExpiredClaimsAcrossWorkspaces, type TakingBack, takeBackAcrossWorkspaces } from "#jobs";
import { type Clock, type Db, type EmitEvent, FairQueue, type JobId, type LockWaits, type Random, type Service, tolerate } from "#kernel";
import type { LaneId, LaneKey, PulledWaker, Waker } from "#lanes";
import { finishForWorker, tookMsOf } from "./finish-for-worker.ts";
import type { JobKinds } from "./kinds.ts";
import { LockedLanes } from "./locked-lanes.ts";
import type { Settler } from "./settle.ts";

/** After this many node losses in a row, the job is assumed to be the cause. Source: design §6. */
export const MAX_LOSSES = 3;
const MAX_ROWS = 5_000;
const MAX_EXPIRED = 500;
/**
 * The maximum number of expired claims of a workspace that wait to be settled. No more of its claims are looked for then, because they would take
 * memory without bound.
 */
const MAX_LATE = 1_000;
/** How long a pass waits for what it has found to be settled. Milliseconds. */
const MAX_SETTLE_MS = 2_000;
/** The wait when jobs are left because others have locked their concurrency keys. Milliseconds. */
const LOCKED_MS = 1_000;
/** The maximum number of lanes of which a stopping node releases jobs with locked keys at the same time. */
const MAX_LANES = 2;
/** For how long a stopping node begins to release lanes with locked keys. Others take back what is left, and count a node loss. Milliseconds. */
const RELEASE_LOCKED_FOR_MS = 5_000;

const NODE_LOST: LastError = { code: "NODE_LOST", message: "The node that made the attempt was lost.", status: null };
const LEASE_EXPIRED = {
  kind: "unreachable",
  code: "LEASE_EXPIRED",
  message: "The lease of the worker ended before it reported an outcome.",
} as const;

export interface RescueOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly kinds: JobKinds;
  readonly settler: Settler;
  readonly lockWaits: LockWaits;
  readonly waker: Waker & PulledWaker;
}

/**
 * Takes back the claims of expired leases. The jobs of a lost node return to `waiting` without using an attempt. For the jobs of a worker
 * the attempt has failed, as if the worker had reported that.
 */
export class Rescue implements Service {
  readonly #options: RescueOptions;
  readonly #locked: LockedLanes<LaneKey>;
  /** Expired claims that were found and may not be settled yet, because their rows may be locked for long. */
  readonly #late = new Map<JobId, Claim>();

  constructor(options: RescueOptions) {
    this.#options = options;
    this.#locked = new LockedLanes({ ...options, name: "rescue", move: (lane) => this.#takeBackLost(lane) });
  }

  start(): void {}

  /** Waits for jobs that are taken back beside the passes. */
  stop(): Promise<void> {
    return this.#locked.stop();
  }

  /** Returns the wait until the next pass, in milliseconds: 0 if there may be more, undefined: the usual wait. */
  async passAcrossWorkspaces(): Promise<number | undefined> {
    const left = await this.#takeBackLost(null);
    this.#locked.add(left);
    const isMore = await this.#settleExpired();
    if (isMore) return 0;
    return left.length > 0 ? LOCKED_MS : undefined;
  }

  /** Takes back the claims of lost nodes. Returns the lanes of which claims are left because of their keys. */
  #takeBackLost(lane: LaneKey | null): Promise<LaneKey[]> {
    const { kinds, emit } = this.#options;
    return takeBackAll(
      this.#options,
      { leaseId: null, outcome: "lost", error: JSON.stringify(NODE_LOST), plainKinds: kinds.plainKinds, lane },
      (count) => emit("jobs_rescued", { count }),
    );
  }

  /** Settles a portion of the expired claims that take a settle each. Returns whether there may be more. */
  async #settleExpired(): Promise<boolean> {
    const { db, emit, kinds, settler } = this.#options;
    for (const [id, claim] of this.#late) if (!settler.isSettling(claim)) this.#late.delete(id);
    const ofWorkspaces = Map.groupBy(this.#late.values(), ({ workspaceId }) => workspaceId);
    const expired = await endExpiredClaimsAcrossWorkspaces(db, {
      kinds: kinds.names,
      maxLosses: MAX_LOSSES,
      plainKinds: kinds.plainKinds,
      onceKinds: kinds.onceKinds,
      settling: [...this.#late.keys()],
      withoutWorkspaces: [...ofWorkspaces].flatMap(([workspaceId, { length }]) => (length >= MAX_LATE ? [workspaceId] : [])),
      limit: MAX_EXPIRED,
    });
    const found = expired.filter(({ claim }) => !settler.isSettling(claim));
    for (const { claim } of expired) this.#late.set(claim.id, claim);
    const late = new AbortController();
    const settled = Promise.all(found.map((one) => settleExpired(this.#options, one))).finally(() => late.abort());
    // The row of a claim may be locked for long. Its outcome is written eventually.
    await Promise.race([settled, wait(MAX_SETTLE_MS, undefined, { signal: late.signal }).catch(() => {})]);
    if (found.length > 0) emit("leases_expired", { count: found.length });
    return expired.length === MAX_EXPIRED;
  }
}

async function settleExpired(rescue: RescueOptions, { claim, worker }: ExpiredClaim): Promise<void> {
  if (worker !== null) {
    await finishForWorker(rescue, { claim, result: LEASE_EXPIRED, worker });
    return;
  }
  const { clock, settler, waker } = rescue;
  await settler.add(claim, { kind: "fail", error: NODE_LOST }, { tookMs: tookMsOf(claim, clock) });
  // Its slot in the lane, or of its key, is free now.
  waker.wake([claim]);
}

/**
 * Releases the claims of a stopping node, without using an attempt, and wakes their lanes. Claims of kinds whose attempts must not be
 * repeated end with the node's lease, because it is not known whether their attempts have begun. Each lane with locked concurrency keys is
 * waited for by itself, so that no lane waits for the keys of another.
 */
export async function releaseAll(rescue: TakingBackAll & { readonly clock: Pick<Clock, "elapsedMs"> }, leaseId: number): Promise<void> {
  const { emit, clock } = rescue;
  const release = (lane: LaneKey | null) =>
    takeBackAll(rescue, { leaseId, outcome: "released", error: null, plainKinds: [], lane }, (count) => emit("jobs_released", { count }));
  const turns = new FairQueue({ maxConcurrent: MAX_LANES });
  const locked = await release(null);
  const untilMs = clock.elapsedMs() + RELEASE_LOCKED_FOR_MS;
  const releaseLocked = async (lane: LaneKey) => void (clock.elapsedMs() < untilMs && (await release(lane)));
  const releaseInTurn = (lane: LaneKey) =>
    tolerate(
      () => turns.run(lane.workspaceId, () => releaseLocked(lane)),
      (error) => emit("release_failed", { error }),
    );
  await Promise.all(locked.map(releaseInTurn));
}

type TakingBackAll = Pick<RescueOptions, "db" | "emit" | "kinds"> & { readonly waker: Waker };

/** Returns the lanes of which jobs are left because of their keys. */
async function takeBackAll(
  { db, kinds, waker }: TakingBackAll,
  which: Pick<TakingBack, "leaseId" | "outcome" | "error" | "plainKinds" | "lane">,
  report: (count: number) => void,
): Promise<LaneKey[]> {
  const left = new Map<LaneId, LaneKey>();
  for (;;) {
    const without = [...left.keys()];
    const found = await takeBackAcrossWorkspaces(db, {
      ...which,
      without,
      maxLosses: MAX_LOSSES,
      onceKinds: kinds.onceKinds,
      limit: MAX_ROWS,
    });
    const { taken = [], locked = [] } = Object.groupBy(found, ({ state }) => (state === null ? "locked" : "taken"));
    const [count, countLocked] = [taken, locked].map((rows) => rows.reduce((sum, { jobs }) => sum + jobs, 0)) as [number, number];
    if (count > 0) {
      report(count);
      waker.wake(taken.map(keyOf));
    }
    // Jobs with locked keys may have hidden those of other lanes.
    for (const one of locked) left.set(one.lane_id, keyOf(one));
    if (count + countLocked < MAX_ROWS) return [...left.values()];
  }
}

const keyOf = (one: { readonly workspace_id: LaneKey["workspaceId"]; readonly lane_id: LaneId }): LaneKey => ({
  workspaceId: one.workspace_id,
  laneId: one.lane_id,
});
