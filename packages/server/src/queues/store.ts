import { type Db, row, rows, sql, type WorkspaceId } from "#kernel";
import type { LaneId, Queue } from "./queue.ts";

/** What a caller may set; `undefined` leaves a setting as it is. */
export interface QueueSettings {
  readonly callbackUrl: string | null | undefined;
  readonly callbackHeaders: string | undefined;
  readonly callbackTimeout: number | undefined;
  readonly callbackSecret: string | undefined;
  readonly attempts: number | undefined;
  readonly backoffDelayMs: number | undefined;
  readonly concurrency: number | null | undefined;
  readonly concurrencyPerKey: number | undefined;
  readonly rateMax: number | null | undefined;
  readonly rateSeconds: number | null | undefined;
  readonly paused: boolean | undefined;
  readonly approvalTimeout: number | null | undefined;
  readonly onTimeout: Queue["on_timeout"] | undefined;
}

export const insertQueue = (
  db: Db,
  workspaceId: WorkspaceId,
  name: string,
  type: Queue["type"],
  settings: QueueSettings,
): Promise<Queue | null> =>
  row(
    db,
    sql`
      insert into queue (workspace_id, name, type, callback_url, callback_headers, callback_timeout, callback_secret, attempts, backoff_delay_ms,
        concurrency, concurrency_per_key, rate_max, rate_seconds, paused, approval_timeout, on_timeout)
      values (${workspaceId}, ${name}, ${type}, ${settings.callbackUrl}, coalesce(${settings.callbackHeaders}, '{}'),
        coalesce(${settings.callbackTimeout}::int, 30), ${settings.callbackSecret}, coalesce(${settings.attempts}::int, 3),
        coalesce(${settings.backoffDelayMs}::int, 1000), ${settings.concurrency}, coalesce(${settings.concurrencyPerKey}::int, 1),
        ${settings.rateMax}, ${settings.rateSeconds}, coalesce(${settings.paused}::boolean, false),
        ${settings.approvalTimeout}, coalesce(${settings.onTimeout}, 'reject'))
      on conflict (workspace_id, name) where deleted_at is null do nothing
      returning *`,
  );

/** Locks the queue until the transaction ends. Leans on queue_name. */
export const lockQueue = (db: Db, workspaceId: WorkspaceId, name: string): Promise<Queue | null> =>
  row(db, sql`select * from queue where workspace_id = ${workspaceId} and name = ${name} and deleted_at is null for update`);

export const updateQueue = (db: Db, { workspace_id, id }: Queue, settings: QueueSettings): Promise<Queue | null> =>
  row(
    db,
    sql`
      update queue set
        callback_url = case when ${settings.callbackUrl !== undefined} then ${settings.callbackUrl} else callback_url end,
        callback_headers = coalesce(${settings.callbackHeaders}, callback_headers),
        callback_timeout = coalesce(${settings.callbackTimeout}::int, callback_timeout),
        callback_secret = coalesce(${settings.callbackSecret}, callback_secret),
        attempts = coalesce(${settings.attempts}::int, attempts),
        backoff_delay_ms = coalesce(${settings.backoffDelayMs}::int, backoff_delay_ms),
        concurrency = case when ${settings.concurrency !== undefined} then ${settings.concurrency} else concurrency end,
        concurrency_per_key = coalesce(${settings.concurrencyPerKey}::int, concurrency_per_key),
        arrange_behind = case when ${settings.concurrencyPerKey} <> concurrency_per_key then '' else arrange_behind end,
        rate_max = case when ${settings.rateMax !== undefined} then ${settings.rateMax} else rate_max end,
        rate_seconds = case when ${settings.rateMax !== undefined} then ${settings.rateSeconds} else rate_seconds end,
        paused = coalesce(${settings.paused}::boolean, paused),
        approval_timeout = case when ${settings.approvalTimeout !== undefined} then ${settings.approvalTimeout} else approval_timeout end,
        on_timeout = coalesce(${settings.onTimeout}, on_timeout),
        revision = revision + 1, updated_at = moment()
      where workspace_id = ${workspace_id} and id = ${id}
      returning *`,
  );

/** Leans on queue_name. */
export const findQueue = (db: Db, workspaceId: WorkspaceId, name: string): Promise<Queue | null> =>
  row(db, sql`select * from queue where workspace_id = ${workspaceId} and name = ${name} and deleted_at is null`);

/** Names around one, in their order: at most `limit` on each side. Uses index queue_name. */
export const listNamesAround = (db: Db, workspaceId: WorkspaceId, name: string, limit: number): Promise<{ name: string }[]> =>
  rows(
    db,
    sql`
      (select name from queue where workspace_id = ${workspaceId} and deleted_at is null and name >= ${name} order by name limit ${limit})
      union all
      (select name from queue where workspace_id = ${workspaceId} and deleted_at is null and name < ${name} order by name desc limit ${limit})`,
  );

/** The queue of a lane, for the engine. */
export const findLane = (db: Db, workspaceId: WorkspaceId, id: LaneId): Promise<Queue | null> =>
  row(db, sql`select * from queue where workspace_id = ${workspaceId} and id = ${id} and deleted_at is null`);

/** Newest first, from below `before`. Leans on the primary key. */
export const listQueues = (db: Db, workspaceId: WorkspaceId, before: number | null, most: number): Promise<Queue[]> =>
  rows(
    db,
    sql`
      select * from queue
      where workspace_id = ${workspaceId} and deleted_at is null and (${before}::bigint is null or id < ${before})
      order by id desc limit ${most}`,
  );

export const markQueueDeleted = (db: Db, workspaceId: WorkspaceId, name: string): Promise<{ id: LaneId } | null> =>
  row(
    db,
    sql`
      update queue set deleted_at = moment(), revision = revision + 1
      where workspace_id = ${workspaceId} and name = ${name} and deleted_at is null returning id`,
  );

/** Deletes all queues of a workspace that is being deleted. Leans on the primary key. */
export const markQueuesDeleted = (db: Db, workspaceId: WorkspaceId): Promise<unknown> =>
  rows(
    db,
    sql`
      update queue set deleted_at = moment(), revision = revision + 1
      where workspace_id = ${workspaceId} and deleted_at is null`,
  );
