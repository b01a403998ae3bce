import { type Db, type EventId, plainArray, type RunId, row, rows, sql, textArray, type WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";
import type { Workflow } from "../workflow.ts";

/** The events that start a workflow, in alphabetical order. Uses index workflow_event_lane. */
export const findEventsOf = async (db: Db, { workspaceId, laneId }: LaneKey): Promise<string[]> =>
  (
    await rows<{ name: string }>(
      db,
      sql`select name from workflow_event where workspace_id = ${workspaceId} and lane_id = ${laneId} order by name`,
    )
  ).map(({ name }) => name);

/** Locks names of events until the transaction ends, so that workflows are registered with them one after the other. */
export const lockEventNames = (tx: Db, workspaceId: WorkspaceId, names: readonly string[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      select pg_advisory_xact_lock(hashtextextended(name, hashtext(${workspaceId}::text)))
      from unnest(${textArray([...names].sort())}::text[]) name`,
  );

/** The first of these events that more than `limit` workflows listen to. Uses the primary key. */
export const findCrowdedEvent = async (tx: Db, workspaceId: WorkspaceId, names: readonly string[], limit: number): Promise<string | null> =>
  (
    await row<{ name: string }>(
      tx,
      sql`
        select e.name from workflow_event e join lane l on l.workspace_id = e.workspace_id and l.id = e.lane_id and l.deleted_at is null
        where e.workspace_id = ${workspaceId} and e.name = any(${textArray(names)}::text[])
        group by e.name having count(*) > ${limit} order by e.name limit 1`,
    )
  )?.name ?? null;

/** Replaces the events that start a workflow. Uses index workflow_event_lane. */
export const putEventsOf = (tx: Db, { workspaceId, laneId }: LaneKey, names: readonly string[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      with gone as (
        delete from workflow_event where workspace_id = ${workspaceId} and lane_id = ${laneId} and name <> all(${textArray(names)}::text[])
      )
      insert into workflow_event (workspace_id, name, lane_id) select ${workspaceId}, name, ${laneId} from unnest(${textArray(names)}::text[]) name
      on conflict do nothing`,
  );

/** The workflows that an event starts. Uses the primary keys. */
export const findListeners = (
  db: Db,
  workspaceId: WorkspaceId,
  event: string,
): Promise<Pick<Workflow, "id" | "attempts" | "backoff_delay_ms">[]> =>
  rows(
    db,
    sql`
      select l.id, l.attempts, l.backoff_delay_ms from workflow_event e
      join lane l on l.workspace_id = e.workspace_id and l.id = e.lane_id and l.deleted_at is null
      where e.workspace_id = ${workspaceId} and e.name = ${event} order by l.id`,
  );

export interface EventKeyToClaim {
  readonly key: string;
  readonly fingerprint: string;
  readonly eventId: EventId;
  readonly runIds: readonly RunId[];
}

export interface KnownEvent {
  readonly event_id: EventId;
  readonly fingerprint: string;
  readonly run_ids: readonly RunId[];
}

/**
 * Takes the key of an event. Returns null, or the event that has the key. The insert waits for a transaction that is taking the key. Uses
 * the primary key.
 */
export async function claimEventKey(tx: Db, workspaceId: WorkspaceId, claim: EventKeyToClaim): Promise<KnownEvent | null> {
  const { key, fingerprint, eventId, runIds } = claim;
  const claimed = await rows(
    tx,
    sql`
      insert into event_key (workspace_id, key, event_id, fingerprint, run_ids, expires_at)
      select id, ${key}, ${eventId}, ${fingerprint}, ${plainArray(runIds)}, coalesce(moment() + retention_days * interval '1 day', 'infinity')
      from workspace where id = ${workspaceId}
      on conflict do nothing returning key`,
  );
  if (claimed.length > 0) return null;
  const known = await row<KnownEvent>(
    tx,
    sql`select event_id, fingerprint, run_ids from event_key where workspace_id = ${workspaceId} and key = ${key}`,
  );
  return known ?? claimEventKey(tx, workspaceId, claim);
}

/**
 * Deletes keys of events whose retention has ended. A key stays for another day while one of its runs is there. Returns how many keys were
 * checked. Uses index event_key_expiry.
 */
export const sweepSomeEventKeysAcrossWorkspaces = async (db: Db, limit: number): Promise<number> =>
  (
    await row<{ keys: number }>(
      db,
      sql`
        with due as (
          select workspace_id, key, exists (select from run r where r.workspace_id = k.workspace_id and r.id = any(k.run_ids)) as is_used
          from event_key k where expires_at <= moment() order by expires_at limit ${limit} for update of k skip locked
        ), kept as (
          update event_key k set expires_at = moment() + interval '1 day' from due
          where is_used and k.workspace_id = any(array[due.workspace_id]) and k.key = due.key
        ), gone as (
          delete from event_key k using due where not is_used and k.workspace_id = any(array[due.workspace_id]) and k.key = due.key
        )
        select count(*) as keys from due`,
    )
  )?.keys ?? 0;
