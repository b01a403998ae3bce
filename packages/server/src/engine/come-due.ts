import { moveDueAcrossWorkspaces } from "#jobs";
import type { Db } from "#kernel";
import type { Waker } from "#lanes";

const MAX_ROWS = 1_000;

/** Moves delayed jobs to `waiting` when they are due. Returns the wait until the next one is due, undefined when none is delayed. */
export async function comeDueAcrossWorkspaces(db: Db, waker: Waker): Promise<number | undefined> {
  const { moved, lanes, nextInMs } = await moveDueAcrossWorkspaces(db, MAX_ROWS);
  if (lanes.length > 0) waker.wake(lanes);
  if (moved === MAX_ROWS) return 0;
  return nextInMs === null ? undefined : Math.max(1, nextInMs);
}
