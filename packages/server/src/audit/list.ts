import type { AuditEventType, AuditResourceType } from "@tidemill/contract";
import {
  type Db,
  type Fragment,
  fragment,
  MAX_SCANNED_ROWS,
  type PageRow,
  rows,
  sql,
  type Timestamp,
  type Uuid,
  type WorkspaceId,
} from "#kernel";
import { findSeqRange, type SeqRange, WHOLE_LOG } from "./seq-range.ts";
import { CHAIN_COLUMNS } from "./store.ts";

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
  /** What its hash covers, and the hash. Times are texts with microseconds. */
  readonly occurred_us: string;
  readonly previous: Buffer;
  readonly previous_expires_at: string;
  readonly hash: Buffer;
  readonly expires_us: string;
}

/** A page of a workspace's audit log: events before `before`, newest first. A filter that is null matches all events. */
export interface AuditPage {
  readonly workspaceId: WorkspaceId;
  readonly eventTypes: readonly string[] | null;
  readonly resourceTypes: readonly string[] | null;
  readonly actorIds: readonly string[] | null;
  /** The id or name of the resource. Not given or null: any. */
  readonly resourceId?: string | null;
  /** Events that occurred at this moment or later. RFC 3339. */
  readonly from: string | null;
  /** Events that occurred before this moment. RFC 3339. */
  readonly to: string | null;
  readonly before: number | null;
  readonly limit: number;
  /** The maximum number of rows to read when no index serves the filters. */
  readonly maxScanned?: number;
}

/** A page and the part of the log that it is in. */
type RangedPage = Required<Omit<AuditPage, "before" | "maxScanned">> & SeqRange;

/** An event of a page, or the end of its scan. */
type ListedEvent = AuditRow & PageRow<number>;

const COLUMNS = fragment`seq, id, event_type, occurred_at, actor_id, resource_type, resource_id, input, output, ${CHAIN_COLUMNS}`;

/** `CUT_PAGE` for events, by their sequence numbers. Their inputs and outputs are the settings of a request, and so are limited. */
const CUT_EVENTS = fragment`
  select end_id as reached, e.*
  from reached left join lateral (
    select *, count(*) over () as found from (
      select * from matched where end_id is null or seq >= end_id order by seq desc limit (select records from requested)) newest
  ) e on true
  order by e.seq desc`;

/**
 * Lists the audit log. The filters decide which statement, and so which index, reads the fewest rows that do not match. Together, the scans
 * of a statement read at most `maxScanned` rows. With a time filter, they read only the part of the log with its events.
 */
export async function listAuditEvents(
  db: Db,
  { maxScanned = MAX_SCANNED_ROWS, resourceId = null, ...unranged }: AuditPage,
): Promise<ListedEvent[]> {
  const range = unranged.from === null && unranged.to === null ? WHOLE_LOG : await findSeqRange(db, unranged);
  const page = { ...unranged, resourceId, after: range.after, before: Math.min(range.before, unranged.before ?? WHOLE_LOG.before) };
  const column = page.eventTypes ? BY_TYPE : BY_ACTOR;
  const named = page.eventTypes ?? page.actorIds;
  if (!named) return listAny(db, page, maxScanned);
  const names = [...new Set(named)];
  return listNamed(db, page, { column, names, scanned: Math.max(1, Math.floor(maxScanned / names.length)) });
}

/** A filter of names that an index serves: index audit_event_type, or audit_event_actor. */
const BY_TYPE = fragment`event_type`;
const BY_ACTOR = fragment`actor_id`;

/** Reads the newest events of each name in `column`, then takes the newest of those. */
const listNamed = (
  db: Db,
  { workspaceId, resourceTypes, actorIds, resourceId, from, to, after, before, limit }: RangedPage,
  { column, names, scanned }: { readonly column: Fragment; readonly names: readonly string[]; readonly scanned: number },
): Promise<ListedEvent[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), wanted as (
        select unnest(${names}::text[]) as name
      ), matched as (
        select e.* from wanted cross join lateral (
          select ${COLUMNS}
          from (select * from audit_event where workspace_id = ${workspaceId} and ${column} = wanted.name and seq > ${after} and seq < ${before}
            order by seq desc limit ${scanned}) scanned
          where expires_at > moment()
            and (${resourceTypes}::text[] is null or resource_type = any(${resourceTypes}))
            and (${resourceId}::text is null or resource_id = ${resourceId})
            and (${actorIds}::text[] is null or actor_id = any(${actorIds}))
            and (${from}::timestamptz is null or occurred_at >= ${from}) and (${to}::timestamptz is null or occurred_at < ${to})
          order by seq desc limit ${limit}) e
      ), reached as (
        select max(last.seq) as end_id from wanted cross join lateral (
          select seq from audit_event where workspace_id = ${workspaceId} and ${column} = wanted.name and seq > ${after} and seq < ${before}
            and (select count(*) from matched where ${column} = wanted.name) < ${limit}::int
          order by seq desc offset ${scanned}::int - 1 limit 1) last
      )
      ${CUT_EVENTS}`,
  );

/** Uses the primary key. */
const listAny = (
  db: Db,
  { workspaceId, resourceTypes, resourceId, from, to, after, before, limit }: RangedPage,
  scanned: number,
): Promise<ListedEvent[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), matched as (
        select ${COLUMNS}
        from (select * from audit_event where workspace_id = ${workspaceId} and seq > ${after} and seq < ${before}
          order by seq desc limit ${scanned}) scanned
        where expires_at > moment()
          and (${resourceTypes}::text[] is null or resource_type = any(${resourceTypes}))
          and (${resourceId}::text is null or resource_id = ${resourceId})
          and (${from}::timestamptz is null or occurred_at >= ${from}) and (${to}::timestamptz is null or occurred_at < ${to})
        order by seq desc limit ${limit}
      ), reached as (
        select case when (select count(*) from matched) < ${limit}::int then (
          select seq from audit_event where workspace_id = ${workspaceId} and seq > ${after} and seq < ${before}
          order by seq desc offset ${scanned}::int - 1 limit 1) end as end_id
      )
      ${CUT_EVENTS}`,
  );
