import { CUT_PAGE, type Db, fragment, MAX_SCANNED_ROWS, type PageRow, row, rows, sql, type WorkspaceId } from "#kernel";
import { findRecordsAcrossWorkspaces, insertLane, type LaneId, type LaneKey, type LaneSettings, updateLane } from "#lanes";
import type { Queue } from "./queue.ts";

const RECORDS = fragment`queue_record`;
const NOT_DELETED = fragment`r.deleted_at is null`;

/** The settings of a queue that its lane does not have; `undefined` leaves a setting as it is. */
interface CallbackSettings {
  readonly callbackUrl: string | null | undefined;
  readonly callbackHeaders: string | undefined;
  readonly callbackSecret: string | undefined;
  readonly approvalTimeout: number | null | undefined;
  readonly onTimeout: Queue["on_timeout"] | undefined;
}

export type QueueSettings = CallbackSettings & LaneSettings;

/** Creates a queue with its lane, in the caller's transaction; null when the workspace has a queue of that name. */
export async function insertQueue(
  tx: Db,
  workspaceId: WorkspaceId,
  name: string,
  type: Queue["type"],
  settings: QueueSettings,
): Promise<Queue | null> {
  const lane = await insertLane(tx, workspaceId, "queue", name, settings);
  if (!lane) return null;
  await rows(
    tx,
    sql`
      insert into queue (workspace_id, id, type, callback_url, callback_headers, callback_secret, approval_timeout, on_timeout)
      values (${workspaceId}, ${lane.id}, ${type}, ${settings.callbackUrl}, coalesce(${settings.callbackHeaders}, '{}'),
        ${settings.callbackSecret}, ${settings.approvalTimeout}, coalesce(${settings.onTimeout}, 'reject'))`,
  );
  return findQueueOfLane(tx, workspaceId, lane.id);
}

/** Changes a queue and its lane, in the caller's transaction. Uses the primary keys. */
export async function updateQueue(tx: Db, { workspace_id, id }: Queue, settings: QueueSettings): Promise<Queue | null> {
  await updateLane(tx, { workspaceId: workspace_id, laneId: id }, settings);
  await rows(
    tx,
    sql`
      update queue set
        callback_url = case when ${settings.callbackUrl !== undefined} then ${settings.callbackUrl} else callback_url end,
        callback_headers = coalesce(${settings.callbackHeaders}, callback_headers),
        callback_secret = coalesce(${settings.callbackSecret}, callback_secret),
        approval_timeout = case when ${settings.approvalTimeout !== undefined} then ${settings.approvalTimeout} else approval_timeout end,
        on_timeout = coalesce(${settings.onTimeout}, on_timeout),
        updated_at = moment()
      where workspace_id = ${workspace_id} and id = ${id}`,
  );
  return findQueueOfLane(tx, workspace_id, id);
}

/** Locks the queue and its lane until the transaction ends. Uses index lane_name. */
export const lockQueue = (db: Db, workspaceId: WorkspaceId, name: string): Promise<Queue | null> =>
  row(db, sql`select * from queue_record where workspace_id = ${workspaceId} and name = ${name} and deleted_at is null for update`);

/** Uses index lane_name. */
export const findQueue = (db: Db, workspaceId: WorkspaceId, name: string): Promise<Queue | null> =>
  row(db, sql`select * from queue_record where workspace_id = ${workspaceId} and name = ${name} and deleted_at is null`);

/** Uses the primary keys. */
export const findQueueOfLane = (db: Db, workspaceId: WorkspaceId, id: LaneId): Promise<Queue | null> =>
  row(db, sql`select * from queue_record where workspace_id = ${workspaceId} and id = ${id} and deleted_at is null`);

/** The queues of these lanes, in any order. Uses the primary keys. */
export const findQueuesAcrossWorkspaces = (db: Db, lanes: readonly LaneKey[]): Promise<Queue[]> =>
  findRecordsAcrossWorkspaces(db, RECORDS, lanes, NOT_DELETED);

/** A page of the queues: newest first, those with an id below `before`. Uses the primary keys. */
export const listQueues = (
  db: Db,
  {
    workspaceId,
    before,
    limit,
    maxScanned = MAX_SCANNED_ROWS,
  }: { workspaceId: WorkspaceId; before: LaneId | null; limit: number; maxScanned?: number },
): Promise<(Queue & PageRow<LaneId>)[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), matched as (
        select q.*, q.callback_headers as payload, null::text as result
        from (select workspace_id, id, deleted_at from lane
          where workspace_id = ${workspaceId} and (${before}::bigint is null or id < ${before}) order by id desc limit ${maxScanned}) l
        cross join lateral (select * from queue_record r where r.workspace_id = l.workspace_id and r.id = l.id offset 0) q
        where l.deleted_at is null
        order by q.id desc limit ${limit}
      ), reached as (
        select case when (select count(*) from matched) < ${limit}::int then (
          select id from lane where workspace_id = ${workspaceId} and (${before}::bigint is null or id < ${before})
          order by id desc offset ${maxScanned}::int - 1 limit 1) end as end_id
      )
      ${CUT_PAGE}`,
  );
