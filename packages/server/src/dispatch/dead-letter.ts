import type { DeadLetterFilter, RetryAll } from "@tidemill/contract";
import type { Db, WorkspaceId } from "#kernel";
import type { LaneId } from "#queues";
import type { LaneKey } from "./claim.ts";
import { momentOf, purgeFailed, retryFailed } from "./dead-letter-store.ts";

/** Which failed jobs: of one queue or, with `laneId` null, of all; the filters must all hold. */
export interface DeadLetterQuery {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId | null;
  readonly filter: Omit<DeadLetterFilter, "queue"> & RetryAll;
}

/** Rows of one statement: a million jobs must not hold locks, or a connection, for a minute. */
const CHUNK = 5_000;

/**
 * Failed jobs wait again with fresh attempts. Jobs that fail again meanwhile are not taken twice. Source: contract §3.
 *
 * @returns how many, and the lanes in which they wait
 */
export async function retryDeadLetters(db: Db, query: DeadLetterQuery): Promise<{ retried: number; lanes: LaneKey[] }> {
  const until = await momentOf(db);
  const lanes = new Map<LaneId, LaneKey>();
  const retried = await inChunks(async () => {
    const moved = await retryFailed(db, query, until, CHUNK);
    for (const { lane_id } of moved) lanes.set(lane_id, { workspaceId: query.workspaceId, laneId: lane_id });
    return moved.reduce((sum, { jobs }) => sum + jobs, 0);
  });
  return { retried, lanes: [...lanes.values()] };
}

/** Removes failed jobs. Answers how many. */
export async function purgeDeadLetters(db: Db, query: DeadLetterQuery): Promise<number> {
  const until = await momentOf(db);
  return inChunks(() => purgeFailed(db, query, until, CHUNK));
}

async function inChunks(work: () => Promise<number>): Promise<number> {
  for (let total = 0; ; ) {
    const count = await work();
    total += count;
    if (count < CHUNK) return total;
  }
}
