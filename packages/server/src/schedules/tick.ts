import { CHARACTERS_OF_WEIGHT, MOST_WEIGHT } from "#jobs";
import type { Transactional } from "#kernel";
import { type Fired, type Firing, fireLocked } from "./fire.ts";
import { findNextDueAcrossWorkspaces, lockDueAcrossWorkspaces } from "./fire-store.ts";

/** Schedules of one transaction. */
const MOST_SCHEDULES = 200;
/** The wait when others have locked all that is due. Milliseconds. */
const LOCKED_MS = 50;

export interface Ticking extends Firing {
  readonly db: Transactional;
  readonly onFired: (fired: Fired) => void;
}

/**
 * Fires schedules whose tick is due, some of them. Every node does so, and none leads: each takes what no other has locked. While
 * nothing is due it is one look at one index entry, however many schedules there are.
 *
 * @returns the wait until there is more to do, in milliseconds; undefined while no schedule has a next tick
 */
export async function tickAcrossWorkspaces({ db, onFired, ...firing }: Ticking): Promise<number | undefined> {
  const inMs = await findNextDueAcrossWorkspaces(db);
  if (inMs === null) return undefined;
  if (inMs > 0) return Math.max(1, inMs);
  const { schedules, lateMs, fired } = await db.transaction(async (tx) => {
    const due = await lockDueAcrossWorkspaces(tx, { most: MOST_SCHEDULES, weight: MOST_WEIGHT, weightBytes: CHARACTERS_OF_WEIGHT });
    const late = Math.max(0, ...due.map(({ due_ms, now_ms }) => now_ms - due_ms));
    return { schedules: due.length, lateMs: late, fired: due.length > 0 ? await fireLocked(tx, firing, due) : null };
  });
  if (!fired) return LOCKED_MS;
  firing.emit("schedules_fired", { schedules, jobs: fired.jobs, lateMs: Math.round(lateMs) });
  onFired(fired);
  return 0;
}
