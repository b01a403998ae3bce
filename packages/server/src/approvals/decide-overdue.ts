import type { AuditLog } from "#audit";
import {
  CHARACTERS_OF_WEIGHT,
  decideSharesAcrossWorkspaces,
  findNextDecisionAcrossWorkspaces,
  findOverdueAcrossWorkspaces,
  MOST_WEIGHT,
  type Overdue,
  type Ruling,
} from "#jobs";
import { type Clock, type EmitEvent, isAway, momentMs, type Transactional, type WorkspaceId } from "#kernel";
import type { LaneKey, Waker } from "#lanes";
import { tellOverdue } from "./tell.ts";

/** Jobs of one transaction, and the workspaces that share it. */
const MOST_JOBS = 200;
const MOST_WORKSPACES = 50;
/** For how long the workspaces that were found take turns before it is looked who is due now. Milliseconds. */
const ROUND_MS = 500;
/** The wait when others are deciding all that is due; and when it could not be decided. Milliseconds. */
const LOCKED_MS = 50;
const FAILED_MS = 1_000;

export interface Deciding {
  readonly db: Transactional;
  readonly audit: AuditLog;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly emit: EmitEvent;
  readonly waker: Waker;
}

/**
 * Decides jobs that nobody decided in time, as their queue says now. Every node does so, and none leads: each takes what no other has
 * locked. Workspaces take turns. While nothing is due it is one look at one index entry. Source: contract §5.
 *
 * @returns the wait until there is more to do, in milliseconds; undefined while no job has a time to be decided by
 */
export async function decideOverdueAcrossWorkspaces(deciding: Deciding): Promise<number | undefined> {
  const { db, clock } = deciding;
  const inMs = await findNextDecisionAcrossWorkspaces(db);
  if (inMs === null) return undefined;
  if (inMs > 0) return Math.max(1, inMs);
  const untilMs = clock.elapsedMs() + ROUND_MS;
  let waitMs = LOCKED_MS;
  for (const turns = await findOverdueAcrossWorkspaces(db); turns.length > 0 && clock.elapsedMs() < untilMs; ) {
    const decided = await decideShares(deciding, turns.splice(0, MOST_WORKSPACES));
    turns.push(...decided.more);
    if (decided.any) waitMs = 0;
    else if (decided.failed) waitMs = Math.max(waitMs, FAILED_MS);
  }
  return waitMs;
}

/** Whether anything was decided, who may have more, and whether there is something that cannot be decided. */
interface Shares {
  readonly any: boolean;
  readonly more: readonly WorkspaceId[];
  readonly failed: boolean;
}

/** What goes wrong with one workspace's jobs stays with them: where the database refuses a batch, each has one of its own. */
async function decideShares(deciding: Deciding, workspaceIds: readonly WorkspaceId[]): Promise<Shares> {
  try {
    return await decideShare(deciding, workspaceIds);
  } catch (error) {
    if (isAway(error)) throw error;
    deciding.emit("approvals_failed", { workspaces: workspaceIds, error });
    if (workspaceIds.length === 1) return { any: false, more: [], failed: true };
    const shares: Shares[] = [];
    for (const id of workspaceIds) shares.push(await decideShares(deciding, [id]));
    return { any: shares.some(({ any }) => any), more: shares.flatMap(({ more }) => more), failed: true };
  }
}

async function decideShare(deciding: Deciding, workspaceIds: readonly WorkspaceId[]): Promise<Shares> {
  const share = { jobs: Math.ceil(MOST_JOBS / workspaceIds.length), weight: MOST_WEIGHT, weightBytes: CHARACTERS_OF_WEIGHT };
  const decided = await deciding.db.transaction(async (tx) => {
    const due = await decideSharesAcrossWorkspaces(tx, workspaceIds, share);
    await tellOverdue(tx, deciding.audit, due);
    return due;
  });
  passOn(deciding, decided);
  return { any: decided.length > 0, more: [...new Set(decided.map(({ workspace_id }) => workspace_id))], failed: false };
}

function passOn({ emit, waker }: Deciding, decided: readonly Overdue[]): void {
  const lanes = new Map<number, LaneKey>();
  const counts: Record<Ruling["decision"], number> = { approved: 0, rejected: 0 };
  for (const { workspace_id, lane_id, decision, state, run_at } of decided) {
    if (decision) counts[decision] += 1;
    if (state === "waiting") lanes.set(lane_id, { workspaceId: workspace_id, laneId: lane_id });
    if (state === "delayed" && run_at !== null) waker.wakeAt(momentMs(run_at));
  }
  for (const decision of ["approved", "rejected"] as const)
    if (counts[decision] > 0) emit("jobs_decided", { decision, by: "timeout", count: counts[decision] });
  if (lanes.size > 0) waker.wake(lanes.values());
}
