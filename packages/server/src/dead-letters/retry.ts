import type { AuditEventType } from "@tidemill/contract";
import type { AuditLog } from "#audit";
import { type DeadLetterQuery, purgeFailed, retryFailed } from "#jobs";
import type { Db, Transactional } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { momentOf } from "./store.ts";

/** Who asks for it, and how the audit log names what was asked. */
export interface Asked {
  readonly audit: AuditLog;
  readonly actorId: string;
  readonly resourceType: "dlq" | "queue";
  readonly resourceId: string;
  readonly input: object;
}

/** Rows of one statement, and of one event of the audit log: a million jobs must not hold locks, or a connection, for a minute. */
const CHUNK = 5_000;

/**
 * Failed jobs wait again with fresh attempts. Jobs that fail again meanwhile are not taken twice. Each transaction that moved any
 * is audited in itself. Source: contract §3.
 *
 * @returns how many, and the lanes in which they wait
 */
export async function retryDeadLetters(
  database: Transactional,
  asked: Asked,
  query: DeadLetterQuery,
): Promise<{ retried: number; lanes: LaneKey[] }> {
  const until = await momentOf(database);
  const lanes = new Map<LaneId, LaneKey>();
  const retried = await inChunks(database, async (tx) => {
    const moved = await retryFailed(tx, query, until, CHUNK);
    for (const { lane_id } of moved) lanes.set(lane_id, { workspaceId: query.workspaceId, laneId: lane_id });
    const count = moved.reduce((sum, { jobs }) => sum + jobs, 0);
    if (count > 0) await tell(tx, asked, query, "dlq.retried", { retried: count });
    return count;
  });
  return { retried, lanes: [...lanes.values()] };
}

/** Removes failed jobs, audited like a retry. Answers how many. */
export async function purgeDeadLetters(database: Transactional, asked: Asked, query: DeadLetterQuery): Promise<number> {
  const until = await momentOf(database);
  return inChunks(database, async (tx) => {
    const count = await purgeFailed(tx, query, until, CHUNK);
    if (count > 0) await tell(tx, asked, query, "dlq.purged", { purged: count });
    return count;
  });
}

const tell = (
  tx: Db,
  { audit, ...asked }: Asked,
  { workspaceId }: DeadLetterQuery,
  eventType: AuditEventType,
  output: object,
): Promise<void> => audit.record(tx, { ...asked, workspaceId, eventType, output });

async function inChunks(database: Transactional, work: (tx: Db) => Promise<number>): Promise<number> {
  for (let total = 0; ; ) {
    const count = await database.transaction(work);
    total += count;
    if (count < CHUNK) return total;
  }
}
