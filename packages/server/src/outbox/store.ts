import type { WebhookEvent } from "@tidemill/contract";
import { type Db, plainArray, row, rows, sql, type Timestamp, textArray, type WorkspaceId } from "#kernel";

/** An event for the webhooks of a workspace. */
export interface EventToStore {
  readonly workspaceId: WorkspaceId;
  readonly type: WebhookEvent;
  readonly data: object;
}

/** Stores events, in the transaction of what they report, for those workspaces that have a webhook for them. Uses the primary key of webhook_topic. */
export async function announceAll(tx: Db, events: readonly EventToStore[]): Promise<void> {
  if (events.length === 0) return;
  await rows(
    tx,
    sql`
      select announce(e.workspace_id, e.type, e.data)
      from unnest(${plainArray(events.map((one) => one.workspaceId))}::uuid[], ${textArray(events.map((one) => one.type))}::text[],
        ${textArray(events.map((one) => JSON.stringify(one.data)))}::text[]) e (workspace_id, type, data)
      where has_topic(e.workspace_id, e.type)`,
  );
}

/** Replaces the types of events that webhooks of a workspace want. The caller has locked the workspace. Uses the primary key. */
export const replaceTopics = (tx: Db, workspaceId: WorkspaceId, types: readonly string[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      with gone as (
        delete from webhook_topic where workspace_id = ${workspaceId} and type <> all(${textArray(types)})
      )
      insert into webhook_topic (workspace_id, type) select ${workspaceId}, type from unnest(${textArray(types)}::text[]) type
      on conflict do nothing`,
  );

/** Whether events wait: 0, or null when none does. Uses index event_outbox_pkey. */
export const findWaitingAcrossWorkspaces = async (db: Db): Promise<number | null> =>
  (await row(db, sql`select from event_outbox order by id limit 1`)) === null ? null : 0;

/** The workspaces with events that wait, the longest waiting first, by one look-up per workspace. Uses index event_outbox_share. */
export const findSendersAcrossWorkspaces = async (db: Db): Promise<WorkspaceId[]> =>
  (
    await rows<{ id: WorkspaceId }>(
      db,
      sql`
        with recursive earliest as (
          (select workspace_id, id from event_outbox order by workspace_id, id limit 1)
          union all
          select next.workspace_id, next.id from earliest cross join lateral (
            select workspace_id, id from event_outbox where workspace_id > earliest.workspace_id order by workspace_id, id limit 1) next
        )
        select workspace_id as id from earliest order by id`,
    )
  ).map(({ id }) => id);

/** An event that waited. */
export interface TakenEvent {
  readonly workspaceId: WorkspaceId;
  readonly type: WebhookEvent;
  readonly at: Timestamp;
  /** JSON text. */
  readonly data: string;
}

/** How many of a workspace's events a transaction takes. */
export interface EventShare {
  readonly workspaceId: WorkspaceId;
  /** The maximum size of data. The event that reaches it is the last one, so that at least one is taken. */
  readonly maxBytes: number;
}

/**
 * Takes a share of the events of each workspace, the oldest first: the caller makes deliveries of them in the same transaction. Events that
 * another transaction has locked are skipped. Uses index event_outbox_share.
 */
export const takeSharesAcrossWorkspaces = (tx: Db, shares: readonly EventShare[], maxEvents: number): Promise<TakenEvent[]> =>
  rows(
    tx,
    sql`
      with taken as (
        delete from event_outbox e
        using (
          select o.id
          from unnest(${plainArray(shares.map((one) => one.workspaceId))}::uuid[], ${plainArray(shares.map((one) => one.maxBytes))}::bigint[]) w (id, max_bytes)
          cross join lateral (
            select id, sum(size) over (order by id) - size as bytes_before from (
              select id, octet_length(data) as size from event_outbox
              where workspace_id = w.id order by workspace_id, id limit ${maxEvents} for update skip locked) locked) o
          where o.bytes_before < w.max_bytes
          offset 0
        ) found
        where e.id = found.id
        returning e.id, e.workspace_id, e.type, e.at, e.data
      )
      select workspace_id as "workspaceId", type, at, data from taken order by workspace_id, id`,
  );
