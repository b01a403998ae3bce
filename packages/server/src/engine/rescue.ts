import type { LastError } from "@tidemill/contract";
import { type ExpiredClaim, findExpiredClaimsAcrossWorkspaces, takeBackAcrossWorkspaces } from "#jobs";
import { type Clock, type Db, type EmitEvent, momentMs, type Random } from "#kernel";
import type { LaneKey, Waker } from "#lanes";
import { judge, type Verdict } from "./judge.ts";
import type { JobKinds } from "./kinds.ts";
import type { Settler } from "./settle.ts";

/** After this many node losses in a row, the job is assumed to be the cause. Source: design §6. */
const MAX_LOSSES = 3;
const MAX_ROWS = 5_000;
const MAX_EXPIRED = 500;

const NODE_LOST: LastError = { code: "NODE_LOST", message: "The node that made the attempt was lost.", status: null };
const LEASE_EXPIRED = {
  kind: "unreachable",
  code: "LEASE_EXPIRED",
  message: "The worker's lease ran out before it settled the job.",
} as const;

/** What a rescue needs. */
export interface Rescue {
  readonly db: Db;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly kinds: JobKinds;
  readonly settler: Settler;
  readonly waker: Waker;
}

/**
 * Takes back the claims of expired leases. The jobs of a lost node go back to `waiting` without using an attempt. For the jobs of a worker
 * the attempt has failed, as if the worker had reported that. Returns 0 if there may be more, undefined otherwise.
 */
export async function rescueAcrossWorkspaces(rescue: Rescue): Promise<0 | undefined> {
  const { db, emit, kinds, waker } = rescue;
  for (;;) {
    const taken = await takeBackAcrossWorkspaces(db, {
      leaseId: null,
      outcome: "lost",
      error: JSON.stringify(NODE_LOST),
      maxLosses: MAX_LOSSES,
      plainKinds: kinds.plainKinds,
      limit: MAX_ROWS,
    });
    const count = countOf(taken);
    if (count > 0) {
      emit("jobs_rescued", { count });
      waker.wake(lanesOf(taken));
    }
    if (count < MAX_ROWS) break;
  }
  const expired = await findExpiredClaimsAcrossWorkspaces(db, {
    kinds: kinds.names,
    maxLosses: MAX_LOSSES,
    plainKinds: kinds.plainKinds,
    limit: MAX_EXPIRED,
  });
  await Promise.all(expired.map((one) => settleExpired(rescue, one)));
  if (expired.length > 0) emit("leases_expired", { count: expired.length });
  return expired.length < MAX_EXPIRED ? undefined : 0;
}

async function settleExpired({ clock, random, settler, waker }: Rescue, { claim, holder, worker }: ExpiredClaim): Promise<void> {
  const verdict: Verdict = holder === "worker" ? judge(LEASE_EXPIRED, claim, random.fraction()) : { kind: "fail", error: NODE_LOST };
  await settler.add(claim, verdict, { tookMs: Math.max(0, clock.nowMs() - momentMs(claim.startedAt)), worker });
  if (verdict.kind === "retry") waker.wakeAt(clock.nowMs() + verdict.waitMs);
  // Its slot in the lane, or of its key, is free now.
  waker.wake([claim]);
}

/** Gives back the claims of a stopping node, without using an attempt, and wakes their lanes. */
export async function giveBackAll({ db, emit, waker }: Pick<Rescue, "db" | "emit" | "waker">, leaseId: number): Promise<void> {
  for (;;) {
    const given = await takeBackAcrossWorkspaces(db, {
      leaseId,
      outcome: "released",
      error: null,
      maxLosses: MAX_LOSSES,
      plainKinds: [],
      limit: MAX_ROWS,
    });
    const count = countOf(given);
    if (count > 0) {
      emit("jobs_given_back", { count });
      waker.wake(lanesOf(given));
    }
    if (count < MAX_ROWS) return;
  }
}

type Taken = Awaited<ReturnType<typeof takeBackAcrossWorkspaces>>;

const countOf = (taken: Taken): number => taken.reduce((sum, { jobs }) => sum + jobs, 0);

const lanesOf = (taken: Taken): LaneKey[] => taken.map(({ workspace_id, lane_id }) => ({ workspaceId: workspace_id, laneId: lane_id }));
