import { setTimeout as wait } from "node:timers/promises";
import type { LastError } from "@tidemill/contract";
import { type ExpiredClaim, endExpiredClaimsAcrossWorkspaces, type TakingBack, takeBackAcrossWorkspaces } from "#jobs";
import type { Clock, Db, EmitEvent, Random } from "#kernel";
import type { PulledWaker, Waker } from "#lanes";
import { finishForWorker, tookMsOf } from "./finish-for-worker.ts";
import type { JobKinds } from "./kinds.ts";
import type { Settler } from "./settle.ts";

/** After this many node losses in a row, the job is assumed to be the cause. Source: design §6. */
const MAX_LOSSES = 3;
const MAX_ROWS = 5_000;
const MAX_EXPIRED = 500;
/** How long a pass waits for what it has found to be settled. Milliseconds. */
const MAX_SETTLE_MS = 2_000;

const NODE_LOST: LastError = { code: "NODE_LOST", message: "The node that made the attempt was lost.", status: null };
const LEASE_EXPIRED = {
  kind: "unreachable",
  code: "LEASE_EXPIRED",
  message: "The lease of the worker ended before it reported an outcome.",
} as const;

/** What a rescue needs. */
export interface Rescue {
  readonly db: Db;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly kinds: JobKinds;
  readonly settler: Settler;
  readonly waker: Waker & PulledWaker;
}

/**
 * Takes back the claims of expired leases. The jobs of a lost node return to `waiting` without using an attempt. For the jobs of a worker
 * the attempt has failed, as if the worker had reported that. Returns 0 if there may be more, undefined otherwise.
 */
export async function rescueAcrossWorkspaces(rescue: Rescue): Promise<0 | undefined> {
  const { db, emit, kinds } = rescue;
  const isAnyLeft = await takeBackLost(rescue, false);
  const expired = await endExpiredClaimsAcrossWorkspaces(db, {
    kinds: kinds.names,
    maxLosses: MAX_LOSSES,
    plainKinds: kinds.plainKinds,
    onceKinds: kinds.onceKinds,
    limit: MAX_EXPIRED,
  });
  // The row of a claim may be locked for long. Its outcome is written eventually, and the next pass does not find the claim again.
  const late = new AbortController();
  const found = expired.filter(({ claim }) => !rescue.settler.isSettling(claim));
  const settled = Promise.all(found.map((one) => settleExpired(rescue, one))).finally(() => late.abort());
  await Promise.race([settled, wait(MAX_SETTLE_MS, undefined, { signal: late.signal }).catch(() => {})]);
  if (found.length > 0) emit("leases_expired", { count: found.length });
  // Last, so that only these claims wait for the transactions that have locked their keys.
  if (isAnyLeft) await takeBackLost(rescue, true);
  return found.length < MAX_EXPIRED ? undefined : 0;
}

/** Takes back the claims of lost nodes. Returns whether some are left because of their keys. */
const takeBackLost = (rescue: Rescue, waits: boolean): Promise<boolean> =>
  takeBackAll(
    rescue,
    { leaseId: null, outcome: "lost", error: JSON.stringify(NODE_LOST), plainKinds: rescue.kinds.plainKinds, waits },
    (count) => rescue.emit("jobs_rescued", { count }),
  );

async function settleExpired(rescue: Rescue, { claim, worker }: ExpiredClaim): Promise<void> {
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
 * repeated end with the node's lease, because it is not known whether their attempts have begun.
 */
export async function releaseAll(rescue: TakingBackAll, leaseId: number): Promise<void> {
  const release = (waits: boolean) =>
    takeBackAll(rescue, { leaseId, outcome: "released", error: null, plainKinds: [], waits }, (count) =>
      rescue.emit("jobs_released", { count }),
    );
  if (await release(false)) await release(true);
}

type TakingBackAll = Pick<Rescue, "db" | "emit" | "kinds"> & { readonly waker: Waker };

async function takeBackAll(
  { db, kinds, waker }: TakingBackAll,
  which: Pick<TakingBack, "leaseId" | "outcome" | "error" | "plainKinds" | "waits">,
  report: (count: number) => void,
): Promise<boolean> {
  for (;;) {
    const found = await takeBackAcrossWorkspaces(db, { ...which, maxLosses: MAX_LOSSES, onceKinds: kinds.onceKinds, limit: MAX_ROWS });
    const taken = found.filter(({ state }) => state !== null);
    const count = taken.reduce((sum, { jobs }) => sum + jobs, 0);
    if (count > 0) {
      report(count);
      waker.wake(taken.map(({ workspace_id, lane_id }) => ({ workspaceId: workspace_id, laneId: lane_id })));
    }
    if (count < MAX_ROWS) return taken.length < found.length;
  }
}
