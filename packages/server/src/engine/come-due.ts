import { moveDueAcrossWorkspaces } from "#jobs";
import type { Db } from "#kernel";
import type { Waker } from "#lanes";

const MAX_ROWS = 1_000;
/** The wait when other nodes have locked all that is due. Milliseconds. */
const LOCKED_MS = 50;

/**
 * Moves delayed jobs to `waiting` when they are due. Returns the wait until more are due, in milliseconds: 0 while there are more than
 * one batch moves, undefined when none is delayed.
 */
export async function comeDueAcrossWorkspaces(db: Db, waker: Waker): Promise<number | undefined> {
  const { moved, isCrowded, lanes, nextInMs } = await moveDueAcrossWorkspaces(db, MAX_ROWS);
  if (lanes.length > 0) waker.wake(lanes);
  if (isCrowded) return moved > 0 ? 0 : LOCKED_MS;
  return nextInMs === null ? undefined : Math.max(1, nextInMs);
}
