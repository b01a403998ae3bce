import type { AuditEventType, AuditResourceType } from "@tidemill/contract";
import { type Db, rows, sql, type Timestamp, type Uuid, type WorkspaceId } from "#kernel";

export interface AuditRow {
  readonly seq: number;
  readonly id: Uuid;
  readonly event_type: AuditEventType;
  readonly occurred_at: Timestamp;
  readonly actor_id: string;
  readonly resource_type: AuditResourceType;
  readonly resource_id: string | null;
  /** JSON text, as is `output`. */
  readonly input: string | null;
  readonly output: string | null;
}

/** A page of a workspace's audit log: events before `before`, newest first. A filter that is null matches all events. */
export interface AuditPage {
  readonly workspaceId: WorkspaceId;
  readonly eventTypes: readonly string[] | null;
  readonly resourceTypes: readonly string[] | null;
  readonly actorIds: readonly string[] | null;
  /** Occurred at this moment or later. RFC 3339. */
  readonly from: string | null;
  /** Occurred before this moment. RFC 3339. */
  readonly to: string | null;
  readonly before: number | null;
  readonly limit: number;
}

/** Above every sequence number. */
const NEWEST = Number.MAX_SAFE_INTEGER;

/** Lists the audit log. The filters decide which statement, and so which index, reads the fewest rows that do not match. */
export function listAuditEvents(db: Db, page: AuditPage): Promise<AuditRow[]> {
  if (page.eventTypes) return listOfTypes(db, page, page.eventTypes);
  return page.actorIds ? listOfActors(db, page, page.actorIds) : listAny(db, page);
}

/** Reads the newest events of each type, then takes the newest of those. Uses index audit_event_type. */
const listOfTypes = (
  db: Db,
  { workspaceId, resourceTypes, actorIds, from, to, before, limit }: AuditPage,
  types: readonly string[],
): Promise<AuditRow[]> =>
  rows(
    db,
    sql`
      select found.* from (select distinct unnest(${types}::text[]) as type) wanted cross join lateral (
        select seq, id, event_type, occurred_at, actor_id, resource_type, resource_id, input, output from audit_event
        where workspace_id = ${workspaceId} and event_type = wanted.type and expires_at > moment()
          and seq < ${before ?? NEWEST}
          and (${resourceTypes}::text[] is null or resource_type = any(${resourceTypes}))
          and (${actorIds}::text[] is null or actor_id = any(${actorIds}))
          and (${from}::timestamptz is null or occurred_at >= ${from}) and (${to}::timestamptz is null or occurred_at < ${to})
        order by seq desc limit ${limit}) found
      order by seq desc limit ${limit}`,
  );

/** Like `listOfTypes`, by actor. Uses index audit_event_actor. */
const listOfActors = (
  db: Db,
  { workspaceId, resourceTypes, from, to, before, limit }: AuditPage,
  actors: readonly string[],
): Promise<AuditRow[]> =>
  rows(
    db,
    sql`
      select found.* from (select distinct unnest(${actors}::text[]) as id) wanted cross join lateral (
        select seq, id, event_type, occurred_at, actor_id, resource_type, resource_id, input, output from audit_event
        where workspace_id = ${workspaceId} and actor_id = wanted.id and expires_at > moment()
          and seq < ${before ?? NEWEST}
          and (${resourceTypes}::text[] is null or resource_type = any(${resourceTypes}))
          and (${from}::timestamptz is null or occurred_at >= ${from}) and (${to}::timestamptz is null or occurred_at < ${to})
        order by seq desc limit ${limit}) found
      order by seq desc limit ${limit}`,
  );

/** Uses the primary key. */
const listAny = (db: Db, { workspaceId, resourceTypes, from, to, before, limit }: AuditPage): Promise<AuditRow[]> =>
  rows(
    db,
    sql`
      select seq, id, event_type, occurred_at, actor_id, resource_type, resource_id, input, output from audit_event
      where workspace_id = ${workspaceId} and expires_at > moment() and seq < ${before ?? NEWEST}
        and (${resourceTypes}::text[] is null or resource_type = any(${resourceTypes}))
        and (${from}::timestamptz is null or occurred_at >= ${from}) and (${to}::timestamptz is null or occurred_at < ${to})
      order by seq desc limit ${limit}`,
  );
