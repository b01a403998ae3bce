import type { RecordKind } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import {
  CHARACTERS_PER_WEIGHT,
  decideSharesAcrossWorkspaces,
  findNextDecisionAcrossWorkspaces,
  findOverdueAcrossWorkspaces,
  MAX_WEIGHT,
  type OverdueJob,
  type Ruling,
} from "#jobs";
import {
  type Clock,
  type EmitEvent,
  type LockWaits,
  momentMs,
  type ReportChange,
  RoundRobinLoop,
  type ServedBatch,
  type Transactional,
  type WorkspaceId,
} from "#kernel";
import type { LaneKey, Waker } from "#lanes";
import { auditOverdue } from "./audit.ts";

/** The maximum number of jobs in one transaction, and of the workspaces that share it. */
const MAX_JOBS = 200;
const MAX_WORKSPACES = 50;
const ROUND_MS = 500;

export interface Deciding {
  readonly db: Transactional;
  readonly audit: AuditLog;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly lockWaits: LockWaits;
  readonly emit: EmitEvent;
  readonly waker: Waker;
  /** Gets changes of workspaces' records. */
  readonly report?: ReportChange;
}

/**
 * Decides jobs whose approval timed out, as their queue says now. All nodes do so, without a leader: each skips what another has locked.
 * While nothing is due it reads one index entry. Source: contract §5.
 */
export const decisionsAcrossWorkspaces = (deciding: Deciding): RoundRobinLoop =>
  new RoundRobinLoop({
    name: "approvals",
    clock: deciding.clock,
    lockWaits: deciding.lockWaits,
    maxBatch: MAX_WORKSPACES,
    roundMs: ROUND_MS,
    findNextInMs: () => findNextDecisionAcrossWorkspaces(deciding.db),
    findWorkspaces: () => findOverdueAcrossWorkspaces(deciding.db),
    serve: (batch) => decideShares(deciding, batch),
    onFailure: (workspaces, error) => deciding.emit("approval_decisions_not_written", { workspaces, error }),
  });

async function decideShares(deciding: Deciding, workspaceIds: readonly WorkspaceId[]): Promise<ServedBatch> {
  const limits = { maxJobs: Math.ceil(MAX_JOBS / workspaceIds.length), maxWeight: MAX_WEIGHT, bytesPerWeight: CHARACTERS_PER_WEIGHT };
  const decided = await deciding.db.transaction(async (tx) => {
    const due = await decideSharesAcrossWorkspaces(tx, workspaceIds, limits);
    await auditOverdue(tx, deciding.audit, due);
    return due;
  });
  reportDecided(deciding, decided);
  return { served: decided.length > 0, more: [...new Set(decided.map(({ workspace_id }) => workspace_id))] };
}

const DECIDED: readonly RecordKind[] = ["approvals", "jobs", "queues"];

function reportDecided({ emit, waker, report }: Deciding, decided: readonly OverdueJob[]): void {
  const lanes = new Map<number, LaneKey>();
  const counts: Record<Ruling["decision"], number> = { approved: 0, rejected: 0 };
  for (const { workspace_id, lane_id, decision, state, run_at } of decided) {
    if (decision) counts[decision] += 1;
    report?.(workspace_id, DECIDED);
    if (state === "waiting") lanes.set(lane_id, { workspaceId: workspace_id, laneId: lane_id });
    if (state === "delayed" && run_at !== null) waker.wakeAt(momentMs(run_at));
  }
  for (const decision of ["approved", "rejected"] as const)
    if (counts[decision] > 0) emit("jobs_decided", { decision, by: "timeout", count: counts[decision] });
  if (lanes.size > 0) waker.wake(lanes.values());
}
