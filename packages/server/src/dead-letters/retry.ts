import type { AuditEventType } from "@tidemill/contract";
import type { Actor, AuditLog } from "#audit";
import { type ChunkDone, type DeadLetterChunk, type DeadLetterQuery, NEWEST, purgeFailed, retryFailed } from "#jobs";
import type { Db, JobId, Transactional } from "#kernel";
import type { LaneKey } from "#lanes";
import { readMoment } from "./store.ts";

/** The actor of a request, and how the audit log records the request. The query names the workspace. */
export interface AuditedRequest extends Pick<Actor, "actorId"> {
  readonly audit: AuditLog;
  readonly resourceType: "dlq" | "queue";
  readonly resourceId: string;
  readonly input: object;
}

/**
 * The maximum number of rows that one transaction reads, whether they match the filters or not: a million jobs must not hold locks, or a
 * connection, for a minute.
 */
const MAX_ROWS = 5_000;

/**
 * Returns failed jobs to `waiting` with fresh attempts. Jobs that fail again in the meantime are not retried twice. Each transaction that
 * moves jobs writes its own audit event. Source: contract §3.
 *
 * @param onRetried called with the lanes in which jobs wait, after each transaction
 * @returns the number of jobs
 */
export function retryDeadLetters(
  database: Transactional,
  request: AuditedRequest,
  query: DeadLetterQuery,
  onRetried: (lanes: readonly LaneKey[]) => void,
  maxRows = MAX_ROWS,
): Promise<number> {
  const retryChunk = async (tx: Db, chunk: DeadLetterChunk) => {
    const done = await retryFailed(tx, query, chunk);
    if (done.lanes.length > 0) await auditRequest(tx, request, query, "dlq.retried", { retried: countOf(done) });
    return done;
  };
  const { workspaceId } = query;
  return inChunks(database, maxRows, retryChunk, ({ lanes }) => onRetried(lanes.map(({ lane_id: laneId }) => ({ workspaceId, laneId }))));
}

/** Removes failed jobs, audited like a retry. Returns their number. */
export const purgeDeadLetters = (
  database: Transactional,
  request: AuditedRequest,
  query: DeadLetterQuery,
  maxRows = MAX_ROWS,
): Promise<number> =>
  inChunks(database, maxRows, async (tx, chunk) => {
    const done = await purgeFailed(tx, query, chunk);
    if (done.lanes.length > 0) await auditRequest(tx, request, query, "dlq.purged", { purged: countOf(done) });
    return done;
  });

const auditRequest = (
  tx: Db,
  { audit, ...request }: AuditedRequest,
  { workspaceId }: DeadLetterQuery,
  eventType: AuditEventType,
  output: object,
): Promise<void> => audit.record(tx, { ...request, workspaceId, eventType, output });

const countOf = ({ lanes }: ChunkDone): number => lanes.reduce((sum, { jobs }) => sum + jobs, 0);

/** Works through all dead letters, newest first, with a transaction for each chunk. Returns the number of jobs. */
async function inChunks(
  database: Transactional,
  maxRows: number,
  work: (tx: Db, chunk: DeadLetterChunk) => Promise<ChunkDone>,
  onDone: (done: ChunkDone) => void = () => {},
): Promise<number> {
  const until = await readMoment(database);
  let total = 0;
  for (let before: JobId | null = NEWEST; before !== null; ) {
    const chunk: DeadLetterChunk = { until, before, limit: maxRows };
    const done: ChunkDone = await database.transaction((tx) => work(tx, chunk));
    onDone(done);
    total += countOf(done);
    before = done.reached;
  }
  return total;
}
