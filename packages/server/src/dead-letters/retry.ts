import type { AuditEventType } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import { type DeadLetterQuery, purgeFailed, retryFailed } from "#jobs";
import type { Db, Transactional } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { readMoment } from "./store.ts";

/** Who requested it, and how the audit log records the request. The query names the workspace. */
export interface AuditedRequest extends Pick<Actor, "actorId"> {
  readonly audit: AuditLog;
  readonly resourceType: "dlq" | "queue";
  readonly resourceId: string;
  readonly input: object;
}

/** Jobs in one transaction and in one audit event: a million jobs must not hold locks, or a connection, for a minute. */
const CHUNK = 5_000;

/**
 * Moves failed jobs back to `waiting` with fresh attempts. Jobs that fail again meanwhile are not retried twice. Each transaction that
 * moves jobs writes its own audit event. Source: contract §3.
 *
 * @returns the number of jobs, and the lanes in which they wait
 */
export async function retryDeadLetters(
  database: Transactional,
  request: AuditedRequest,
  query: DeadLetterQuery,
): Promise<{ retried: number; lanes: LaneKey[] }> {
  const until = await readMoment(database);
  const lanes = new Map<LaneId, LaneKey>();
  const retried = await inChunks(database, async (tx) => {
    const moved = await retryFailed(tx, query, until, CHUNK);
    for (const { lane_id } of moved) lanes.set(lane_id, { workspaceId: query.workspaceId, laneId: lane_id });
    const count = moved.reduce((sum, { jobs }) => sum + jobs, 0);
    if (count > 0) await auditRequest(tx, request, query, "dlq.retried", { retried: count });
    return count;
  });
  return { retried, lanes: [...lanes.values()] };
}

/** Removes failed jobs, audited like a retry. Returns their number. */
export async function purgeDeadLetters(database: Transactional, request: AuditedRequest, query: DeadLetterQuery): Promise<number> {
  const until = await readMoment(database);
  return inChunks(database, async (tx) => {
    const count = await purgeFailed(tx, query, until, CHUNK);
    if (count > 0) await auditRequest(tx, request, query, "dlq.purged", { purged: count });
    return count;
  });
}

const auditRequest = (
  tx: Db,
  { audit, ...request }: AuditedRequest,
  { workspaceId }: DeadLetterQuery,
  eventType: AuditEventType,
  output: object,
): Promise<void> => audit.record(tx, { ...request, workspaceId, eventType, output });

async function inChunks(database: Transactional, work: (tx: Db) => Promise<number>): Promise<number> {
  for (let total = 0; ; ) {
    const count = await database.transaction(work);
    total += count;
    if (count < CHUNK) return total;
  }
}
