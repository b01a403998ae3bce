import type { JobState } from "@tidemill/contract";
import {
  CUT_PAGE,
  type Db,
  type Fragment,
  fragment,
  type JobId,
  plainArray,
  row,
  rows,
  sql,
  type Timestamp,
  textArray,
  type WorkspaceId,
} from "#kernel";
import type { LaneId } from "#lanes";
import { LISTED_COLUMNS, type ListedJob } from "../list.ts";

/** The conditions of a search in all queues. Each condition that is given must hold; null holds for all jobs. */
export interface JobConditions {
  readonly workspaceId: WorkspaceId;
  readonly states: readonly JobState[] | null;
  readonly laneIds: readonly LaneId[] | null;
  readonly tags: readonly string[] | null;
  readonly keys: readonly string[] | null;
  readonly errors: readonly string[] | null;
  /** The group of failed jobs. Jobs that have not failed match none. */
  readonly fingerprint: string | null;
  readonly ids: readonly JobId[] | null;
  readonly createdAfter: Timestamp | null;
  readonly createdBefore: Timestamp | null;
  /** A part of the payload's text. */
  readonly contains: string | null;
  /** Jobs that were enqueued, and finished if they have, by this moment. */
  readonly until: Timestamp | null;
}

/** A part of a search: the newest `limit` matches with ids from `since` up to, but not including, `before`. */
export interface SearchPart {
  readonly since: JobId;
  readonly before: JobId;
  readonly limit: number;
  /** The maximum number of rows that each scan reads. */
  readonly scanned: number;
  /** The search ends with the payload that reaches this many bytes, if it looks into payloads. */
  readonly maxBytes: number;
}

/** What a search reads: scans of live, active and finished jobs, and what the scans are repeated for. */
export interface SearchSource {
  readonly live: Fragment;
  readonly active: Fragment;
  readonly finished: Fragment;
  /** The scans of live and finished jobs are made once for each of these. */
  readonly wanted: readonly { readonly laneId: LaneId | null; readonly tag: string | null; readonly id: JobId | null }[];
}

const RANGE = fragment`id < (select before_id from requested) and id >= (select since_id from requested)`;
const NEWEST = fragment`order by id desc limit (select scanned from requested)`;
const OF_WORKSPACE = fragment`workspace_id = (select workspace_id from requested)`;
const NEWEST_OF_WORKSPACE = fragment`coalesce(workspace_id, id) = (select workspace_id from requested) and kind = 'queue'`;

/** The scans, and the index that each uses. */
export const SCANS = {
  none: { live: fragment`(select * from job where false)`, finished: fragment`(select * from job_history where false)` },
  /** Indexes job_newest and job_history_newest. */
  newest: {
    live: fragment`(select * from job where ${NEWEST_OF_WORKSPACE} and state <> 'active' and ${RANGE} ${NEWEST})`,
    finished: fragment`(select * from job_history where ${NEWEST_OF_WORKSPACE} and ${RANGE} ${NEWEST})`,
  },
  /** The same indexes. */
  one: {
    live: fragment`(select * from job where ${NEWEST_OF_WORKSPACE} and state <> 'active' and ${RANGE} and id = w.id)`,
    finished: fragment`(select * from job_history where ${NEWEST_OF_WORKSPACE} and ${RANGE} and id = w.id)`,
  },
  /** Index job_failed. */
  failed: { live: fragment`(select * from job where ${OF_WORKSPACE} and state = 'failed' and ${RANGE} ${NEWEST})` },
  /** Index job_fingerprint. */
  fingerprint: {
    live: fragment`(
      select * from job where coalesce(workspace_id, id) = (select workspace_id from requested)
        and fingerprint = (select fingerprint from requested) and state = 'failed' and ${RANGE} ${NEWEST})`,
  },
  /** Index job_pending. */
  pending: { live: fragment`(select * from job where ${OF_WORKSPACE} and state = 'pending_approval' and ${RANGE} ${NEWEST})` },
  /** The primary keys. Also finds active jobs. */
  lane: {
    live: fragment`(select * from job where ${OF_WORKSPACE} and lane_id = w.lane_id and ${RANGE} ${NEWEST})`,
    finished: fragment`(select * from job_history where ${OF_WORKSPACE} and lane_id = w.lane_id and ${RANGE} ${NEWEST})`,
  },
  /** Index job_parked. */
  parked: {
    live: fragment`(
      select * from job where ${OF_WORKSPACE} and lane_id = w.lane_id and state in ('delayed', 'pending_approval', 'failed') and ${RANGE} ${NEWEST})`,
  },
  /** Indexes job_tag and job_history_tag. Also finds active jobs. */
  tag: {
    live: fragment`(select * from job where ${OF_WORKSPACE} and lane_id = w.lane_id and tag = w.tag and ${RANGE} ${NEWEST})`,
    finished: fragment`(select * from job_history where ${OF_WORKSPACE} and lane_id = w.lane_id and tag = w.tag and ${RANGE} ${NEWEST})`,
  },
} as const;

/** Index job_active, which has no more entries than all nodes and workers have jobs in flight. */
export const ACTIVE_SCAN = fragment`(
  select *, 'queue'::job_kind as kind, null::text as fingerprint from active_job
  where ${OF_WORKSPACE} and ${RANGE} and ((select ids from requested) is null or id = any((select ids from requested)::uuid[])) ${NEWEST})`;
export const NO_ACTIVE_SCAN = fragment`(select *, 'queue'::job_kind as kind, null::text as fingerprint from active_job where false)`;

const MATCHES = fragment`
  s.kind = 'queue' and (r.states is null or s.state = any(r.states)) and (r.lanes is null or s.lane_id = any(r.lanes))
  and (r.tags is null or s.tag = any(r.tags)) and (r.keys is null or s.concurrency_key = any(r.keys))
  and (r.created_after is null or s.created_at >= r.created_after) and (r.created_before is null or s.created_at < r.created_before)
  and (r.until is null or coalesce(s.finished_at, s.created_at) <= r.until)
  and (r.contains is null or s.bytes_before < r.max_bytes and strpos(s.payload, r.contains) > 0)`;

const LIVE_MATCHES = fragment`${MATCHES} and (r.errors is null or s.error_code = any(r.errors))
  and (r.fingerprint is null or s.fingerprint = r.fingerprint and s.state = 'failed')`;
const FINISHED_MATCHES = fragment`${MATCHES} and s.expires_at > moment() and (r.errors is null or s.last_error::json ->> 'code' = any(r.errors))
  and r.fingerprint is null`;

/** The matches of a scan for one of CTE `wanted`, newest first. Lengths of payloads are known without reading them. */
const matchesOf = (scan: Fragment, matches: Fragment, result: Fragment): Fragment => fragment`
  select s.lane_id, ${LISTED_COLUMNS}, ${result} as result, l.queue
  from (
    select *, sum(octet_length(payload)) over (order by id desc rows unbounded preceding) - octet_length(payload) as bytes_before from ${scan} scanned
  ) s
  cross join requested r
  cross join lateral (
    select name as queue from lane
    where lane.workspace_id = s.workspace_id and lane.id = s.lane_id and coalesce(deleted_at, 'infinity') = 'infinity' offset 0) l
  where ${matches}
  order by id desc limit (select records from requested)`;

/** The last row that a scan read, if it ended early and its matches do not fill the page. */
const endOf = (scan: Fragment, found: Fragment): Fragment => fragment`
  select id from (
    select id, row_number() over (order by id desc) as place, sum(octet_length(payload)) over (order by id desc rows unbounded preceding) as bytes
    from ${scan} scanned
  ) read
  where ${found} < (select records from requested)
    and (place = (select scanned from requested)
      or (select contains from requested) is not null and bytes >= (select max_bytes from requested))
  order by id desc limit 1`;

const NO_RESULT = fragment`null::text`;
const RESULT = fragment`result`;

/** The statement of a search. `end` selects from CTE `matched` (what was found) and CTE `reached` (where scans ended). */
const search = ({ live, active, finished, wanted }: SearchSource, of: JobConditions, part: SearchPart, end: Fragment) => sql`
  with requested as (
    select ${of.workspaceId}::uuid as workspace_id, ${part.since}::uuid as since_id, ${part.before}::uuid as before_id,
      ${part.limit}::int as records, ${part.scanned}::int as scanned, ${part.maxBytes}::bigint as max_bytes, ${of.states}::job_state[] as states,
      ${of.laneIds && plainArray(of.laneIds)}::bigint[] as lanes, ${of.tags}::text[] as tags, ${of.keys}::text[] as keys,
      ${of.errors}::text[] as errors, ${of.fingerprint}::text as fingerprint, ${of.ids && plainArray(of.ids)}::uuid[] as ids, ${of.createdAfter}::timestamptz as created_after,
      ${of.createdBefore}::timestamptz as created_before, ${of.contains}::text as contains, ${of.until}::timestamptz as until
  ), wanted as (
    select * from unnest(${plainArray(wanted.map(({ laneId }) => laneId))}::bigint[], ${textArray(wanted.map(({ tag }) => tag))}::text[],
      ${plainArray(wanted.map(({ id }) => id))}::uuid[]) with ordinality as w (lane_id, tag, id, n)
  ), live as (
    select w.n, j.* from wanted w cross join lateral (${matchesOf(live, LIVE_MATCHES, NO_RESULT)}) j
  ), active as (
    ${matchesOf(active, LIVE_MATCHES, NO_RESULT)}
  ), finished as (
    select w.n, j.* from wanted w cross join lateral (${matchesOf(finished, FINISHED_MATCHES, RESULT)}) j
  ), matched as (
    select 0 as n, * from active union all select * from live union all select * from finished
  ), reached as (
    select (select id from (
      (${endOf(active, fragment`(select count(*) from active)`)})
      union all
      select e.id from wanted w cross join lateral (${endOf(live, fragment`(select count(*) from live f where f.n = w.n)`)}) e
      union all
      select e.id from wanted w cross join lateral (${endOf(finished, fragment`(select count(*) from finished f where f.n = w.n)`)}) e
    ) ends order by id desc limit 1) as end_id
  )
  ${end}`;

/** A job that a search found, with its queue. */
export type FoundJob = ListedJob & { readonly lane_id: LaneId; readonly queue: string };

/** The newest matches, as many as fit on a page. */
export const searchJobs = (db: Db, source: SearchSource, of: JobConditions, part: SearchPart): Promise<FoundJob[]> =>
  rows(db, search(source, of, part, CUT_PAGE));

const KEYS = fragment`
  select end_id as reached, p.*
  from reached left join lateral (
    select lane_id, id, count(*) over () as found from matched where end_id is null or id >= end_id
    order by id desc limit (select records from requested)) p on true
  order by p.id desc`;

/** Like `searchJobs`, without the jobs' records. */
export const searchKeys = (
  db: Db,
  source: SearchSource,
  of: JobConditions,
  part: SearchPart,
): Promise<{ reached: JobId | null; found: number | null; lane_id: LaneId; id: JobId }[]> => rows(db, search(source, of, part, KEYS));

const COUNT = fragment`select end_id as reached, (select count(*) from matched where end_id is null or id >= end_id) as jobs from reached`;

/** How many jobs match among those that the scans read. `part.limit` must be at least the number of rows that they may find. */
export const countMatches = async (
  db: Db,
  source: SearchSource,
  of: JobConditions,
  part: SearchPart,
): Promise<{ jobs: number; reached: JobId | null }> => (await row(db, search(source, of, part, COUNT))) ?? { jobs: 0, reached: null };

/** The queues of these names that are not deleted. Uses index lane_name. */
export const findQueues = (db: Db, workspaceId: WorkspaceId, names: readonly string[]): Promise<{ id: LaneId }[]> =>
  rows(
    db,
    sql`
      select id from lane
      where workspace_id = ${workspaceId} and kind = 'queue' and name = any(${textArray(names)}::text[]) and deleted_at is null`,
  );

/** Some queues of a workspace. Uses index lane_name. */
export const someQueues = (db: Db, workspaceId: WorkspaceId, limit: number): Promise<{ id: LaneId }[]> =>
  rows(
    db,
    sql`select id from lane where workspace_id = ${workspaceId} and kind = 'queue' and deleted_at is null order by name limit ${limit}`,
  );
