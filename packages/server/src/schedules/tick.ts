import { CHARACTERS_PER_WEIGHT, MAX_WEIGHT } from "#jobs";
import { type LockWaits, RoundRobinLoop, type ServedBatch, type Transactional, type WorkspaceId } from "#kernel";
import { type FireContext, type FireResult, fireSchedules } from "./fire.ts";
import { findDueAcrossWorkspaces, findNextDueAcrossWorkspaces, lockSharesAcrossWorkspaces } from "./fire-store.ts";
import { ON_TIME_MS } from "./plan-ticks.ts";

/** The maximum number of schedules in one transaction, and of the workspaces that share it. */
const MAX_SCHEDULES = 50;
const MAX_WORKSPACES = 50;
const ROUND_MS = 500;
/** When more than `BURST` schedules are due, each transaction is followed by a rest of `BURST_REST` times its duration. */
const BURST = 1_000;
const BURST_REST = 4;
/** If ticks are this late, there is no rest. Milliseconds. */
const REST_UNTIL_LATE_MS = 8_000;

export interface Ticking extends FireContext {
  readonly db: Transactional;
  readonly lockWaits: LockWaits;
  readonly onFired: (fired: FireResult) => void;
}

/**
 * Fires schedules whose tick is due. Every node does so without a leader: it skips what another node has locked. While nothing is due it
 * reads one index entry, however many schedules there are.
 */
export function ticksAcrossWorkspaces(ticking: Ticking): RoundRobinLoop {
  const { db, clock, lockWaits, emit } = ticking;
  let rest = 0;
  return new RoundRobinLoop({
    name: "schedules",
    clock,
    lockWaits,
    maxBatch: MAX_WORKSPACES,
    roundMs: ROUND_MS,
    findNextInMs: () => findNextDueAcrossWorkspaces(db),
    findWorkspaces: async () => {
      const due = await findDueAcrossWorkspaces(db);
      rest = due.reduce((sum, { schedules }) => sum + schedules, 0) > BURST ? BURST_REST : 0;
      return due.map(({ id }) => id);
    },
    serve: (batch) => fireShares({ ...ticking, rest }, batch),
    onFailure: (workspaces, error) => emit("schedule_ticks_not_written", { workspaces, error }),
  });
}

async function fireShares(
  { db, onFired, rest, ...firing }: Ticking & { rest: number },
  workspaceIds: readonly WorkspaceId[],
): Promise<ServedBatch> {
  const { clock, emit } = firing;
  const beganMs = clock.elapsedMs();
  const punctual = Math.ceil(MAX_SCHEDULES / workspaceIds.length);
  const limits = {
    punctual,
    overdue: Math.ceil(punctual / 4),
    weight: MAX_WEIGHT,
    weightBytes: CHARACTERS_PER_WEIGHT,
    onTimeMs: ON_TIME_MS,
  };
  const { due, fired } = await db.transaction(async (tx) => {
    const locked = await lockSharesAcrossWorkspaces(tx, workspaceIds, limits);
    return { due: locked, fired: locked.length > 0 ? await fireSchedules(tx, firing, locked) : null };
  });
  if (!fired) return { served: false, more: [] };
  const tookMs = clock.elapsedMs() - beganMs;
  const lateMs = Math.max(...due.map(({ due_ms, now_ms }) => now_ms - due_ms)) + tookMs;
  emit("schedules_fired", { schedules: due.length, jobs: fired.jobs, lateMs: Math.round(lateMs) });
  onFired(fired);
  const fullShare = (id: WorkspaceId) => due.filter(({ workspace_id }) => workspace_id === id).length >= limits.overdue;
  return { served: true, more: workspaceIds.filter(fullShare), restMs: lateMs < REST_UNTIL_LATE_MS ? tookMs * rest : 0 };
}
