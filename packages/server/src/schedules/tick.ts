import { setTimeout } from "node:timers/promises";
import { CHARACTERS_OF_WEIGHT, MOST_WEIGHT } from "#jobs";
import { isAway, type Transactional, type WorkspaceId } from "#kernel";
import { type Fired, type Firing, fireLocked } from "./fire.ts";
import { findDueAcrossWorkspaces, findNextDueAcrossWorkspaces, lockSharesAcrossWorkspaces } from "./fire-store.ts";
import { ON_TIME_MS } from "./plan-ticks.ts";

/** Schedules of one transaction, and the workspaces that share it. */
const MOST_SCHEDULES = 50;
const MOST_WORKSPACES = 50;
/** For how long the workspaces that were found due take turns before it is looked who is due now. Milliseconds. */
const ROUND_MS = 500;
/** When more than that many schedules are due, others have the time between two transactions: so many lengths of the one before. */
const HERD = 1_000;
const REST = 4;
/** Ticks that are that late wait for nobody. */
const REST_UNTIL_LATE_MS = 8_000;
/** The wait when others have locked all that is due; and when it could not be fired. Milliseconds. */
const LOCKED_MS = 50;
const FAILED_MS = 1_000;

export interface Ticking extends Firing {
  readonly db: Transactional;
  readonly onFired: (fired: Fired) => void;
}

/**
 * Fires schedules whose tick is due, some of them. Every node does so, and none leads: each takes what no other has locked. Workspaces
 * take turns, so that none waits for another's thousands. While nothing is due it is one look at one index entry, however many
 * schedules there are.
 *
 * @returns the wait until there is more to do, in milliseconds; undefined while no schedule has a next tick
 */
export async function tickAcrossWorkspaces(ticking: Ticking): Promise<number | undefined> {
  const { db, clock } = ticking;
  const inMs = await findNextDueAcrossWorkspaces(db);
  if (inMs === null) return undefined;
  if (inMs > 0) return Math.max(1, inMs);
  const untilMs = clock.elapsedMs() + ROUND_MS;
  let waitMs = LOCKED_MS;
  const due = await findDueAcrossWorkspaces(db);
  const rest = due.reduce((sum, { schedules }) => sum + schedules, 0) > HERD ? REST : 0;
  for (const turns = due.map(({ id }) => id); turns.length > 0 && clock.elapsedMs() < untilMs; ) {
    const batch = turns.splice(0, MOST_WORKSPACES);
    const fired = await fireShares({ ...ticking, rest }, batch);
    turns.push(...fired.more);
    if (fired.any) waitMs = 0;
    else if (fired.failed) waitMs = Math.max(waitMs, FAILED_MS);
  }
  return waitMs;
}

/** Whether anything was fired, who may have more, and whether there is something that cannot be fired. */
interface Shares {
  readonly any: boolean;
  readonly more: readonly WorkspaceId[];
  readonly failed: boolean;
}

/** What goes wrong with one workspace's schedules stays with them: where the database refuses a batch, each has one of its own. */
async function fireShares(ticking: Ticking & { rest: number }, workspaceIds: readonly WorkspaceId[]): Promise<Shares> {
  try {
    return await fireShare(ticking, workspaceIds);
  } catch (error) {
    if (isAway(error)) throw error;
    ticking.emit("schedules_failed", { workspaces: workspaceIds, error });
    if (workspaceIds.length === 1) return { any: false, more: [], failed: true };
    const shares: Shares[] = [];
    for (const id of workspaceIds) shares.push(await fireShares(ticking, [id]));
    return { any: shares.some(({ any }) => any), more: shares.flatMap(({ more }) => more), failed: true };
  }
}

async function fireShare(
  { db, onFired, rest, ...firing }: Ticking & { rest: number },
  workspaceIds: readonly WorkspaceId[],
): Promise<Shares> {
  const { clock, emit } = firing;
  const beganMs = clock.elapsedMs();
  const punctual = Math.ceil(MOST_SCHEDULES / workspaceIds.length);
  const share = {
    punctual,
    overdue: Math.ceil(punctual / 4),
    weight: MOST_WEIGHT,
    weightBytes: CHARACTERS_OF_WEIGHT,
    onTimeMs: ON_TIME_MS,
  };
  const { due, fired } = await db.transaction(async (tx) => {
    const locked = await lockSharesAcrossWorkspaces(tx, workspaceIds, share);
    return { due: locked, fired: locked.length > 0 ? await fireLocked(tx, firing, locked) : null };
  });
  if (!fired) return { any: false, more: [], failed: false };
  const tookMs = clock.elapsedMs() - beganMs;
  const lateMs = Math.max(...due.map(({ due_ms, now_ms }) => now_ms - due_ms)) + tookMs;
  emit("schedules_fired", { schedules: due.length, jobs: fired.jobs, lateMs: Math.round(lateMs) });
  onFired(fired);
  if (rest > 0 && lateMs < REST_UNTIL_LATE_MS) await setTimeout(tookMs * rest);
  const fullShare = (id: WorkspaceId) => due.filter(({ workspace_id }) => workspace_id === id).length >= share.overdue;
  return { any: true, more: workspaceIds.filter(fullShare), failed: false };
}
