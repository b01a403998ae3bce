import type { Db } from "#kernel";
import type { LaneKey } from "./claim.ts";
import { arrangeSomeAcrossWorkspaces } from "./store.ts";

/** Keys of one queue that are arranged in one transaction: whoever settles a job of one of them waits for it. */
const MOST_KEYS = 500;
const MOST_QUEUES = 20;

/**
 * Gives the jobs of keys their slots anew in queues whose `concurrency_per_key` was changed, some keys of each at a time. Answers 0,
 * for another pass at once, while there are more.
 */
export async function arrangeAcrossWorkspaces(db: Db, onWaiting: (lanes: LaneKey[]) => void): Promise<number | undefined> {
  const lanes: LaneKey[] = [];
  let more = false;
  for (let queues = 0; queues < MOST_QUEUES; queues += 1) {
    const arranged = await arrangeSomeAcrossWorkspaces(db, MOST_KEYS, lanes);
    if (!arranged) break;
    lanes.push(arranged);
    more ||= arranged.more;
  }
  if (lanes.length > 0) onWaiting(lanes);
  return more || lanes.length === MOST_QUEUES ? 0 : undefined;
}
