import type { Db } from "#kernel";
import type { LaneKey } from "./claim.ts";
import { moveDueAcrossWorkspaces } from "./store.ts";

const MOST_ROWS = 1_000;

/** Moves delayed jobs that have come due into the claimable set. Answers the wait until the next one is due, if any is delayed. */
export async function comeDueAcrossWorkspaces(db: Db, onWaiting: (lanes: LaneKey[]) => void): Promise<number | undefined> {
  const { moved, lanes, nextInMs } = await moveDueAcrossWorkspaces(db, MOST_ROWS);
  if (lanes.length > 0) onWaiting(lanes);
  if (moved === MOST_ROWS) return 0;
  return nextInMs === null ? undefined : Math.max(1, nextInMs);
}
