import type { JobState } from "@tidemill/contract";
import { CUT_PAGE, type Db, fragment, type JobId, MAX_SCANNED_ROWS, type PageRow, rows, sql, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { JobRow } from "./job.ts";

/** A page of a queue's jobs: newest first, with ids below `before`. A null filter matches all jobs. */
export interface JobsPage {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
  readonly states: readonly JobState[] | null;
  readonly tags: readonly string[] | null;
  readonly before: JobId | null;
  readonly limit: number;
  /** The maximum number of rows to read when no index serves the filters. */
  readonly maxScanned?: number;
}

/** A job of a page, or the end of its scan. */
export type ListedJob = JobRow & PageRow<JobId>;

/** Greater than every id. */
export const NEWEST = "ffffffff-ffff-ffff-ffff-ffffffffffff" as JobId;
const PARKED: readonly JobState[] = ["delayed", "pending_approval", "failed"];

/** The columns of a listed job, without its result, which live jobs do not have. */
export const LISTED_COLUMNS = fragment`id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag,
  concurrency_key, payload, last_error, schedule, scheduled_for, idempotency_key, approval`;

/**
 * Lists live and finished jobs together. The filters decide which statement is used, so that it reads few rows that do not match. Together,
 * the scans of a statement read at most `maxScanned` rows.
 */
export function listJobs(db: Db, { maxScanned = MAX_SCANNED_ROWS, ...page }: JobsPage): Promise<ListedJob[]> {
  const { states } = page;
  const tags = page.tags && [...new Set(page.tags)];
  if (states?.every((state) => PARKED.includes(state))) return listParked(db, page, maxScanned);
  if (states?.every((state) => state === "active")) return listActive(db, page);
  const scans = 2 * (tags?.length ?? 1);
  const scanned = Math.max(1, Math.floor(maxScanned / scans));
  return tags ? listTagged(db, page, tags, scanned) : listAny(db, page, scanned);
}

/** Uses the primary keys. */
const listAny = (db: Db, { workspaceId, laneId, states, before, limit }: JobsPage, scanned: number): Promise<ListedJob[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), live as (
        select ${LISTED_COLUMNS}, null::text as result
        from (select * from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
          order by id desc limit ${scanned}) scanned
        where ${states}::job_state[] is null or state = any(${states})
        order by id desc limit ${limit}
      ), finished as (
        select ${LISTED_COLUMNS}, result
        from (select * from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
          order by id desc limit ${scanned}) scanned
        where expires_at > moment() and (${states}::job_state[] is null or state = any(${states}))
        order by id desc limit ${limit}
      ), matched as (
        select * from live union all select * from finished
      ), reached as (
        select greatest(
          case when (select count(*) from live) < ${limit}::int then (
            select id from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
            order by id desc offset ${scanned}::int - 1 limit 1) end,
          case when (select count(*) from finished) < ${limit}::int then (
            select id from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
            order by id desc offset ${scanned}::int - 1 limit 1) end) as end_id
      )
      ${CUT_PAGE}`,
  );

/** Uses indexes job_tag and job_history_tag, once for each tag. */
const listTagged = (
  db: Db,
  { workspaceId, laneId, states, before, limit }: JobsPage,
  tags: readonly string[],
  scanned: number,
): Promise<ListedJob[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), wanted as (
        select unnest(${tags}::text[]) as name
      ), live as (
        select j.* from wanted cross join lateral (
          select ${LISTED_COLUMNS}, null::text as result
          from (select * from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and tag = wanted.name
            and id < ${before ?? NEWEST} order by id desc limit ${scanned}) scanned
          where ${states}::job_state[] is null or state = any(${states})
          order by id desc limit ${limit}) j
      ), finished as (
        select j.* from wanted cross join lateral (
          select ${LISTED_COLUMNS}, result
          from (select * from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId} and tag = wanted.name
            and id < ${before ?? NEWEST} order by id desc limit ${scanned}) scanned
          where expires_at > moment() and (${states}::job_state[] is null or state = any(${states}))
          order by id desc limit ${limit}) j
      ), matched as (
        select * from live union all select * from finished
      ), reached as (
        select (
          select last.id from wanted cross join lateral (
            (select id from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and tag = wanted.name
              and id < ${before ?? NEWEST} and (select count(*) from live where tag = wanted.name) < ${limit}::int
              order by id desc offset ${scanned}::int - 1 limit 1)
            union all
            (select id from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId} and tag = wanted.name
              and id < ${before ?? NEWEST} and (select count(*) from finished where tag = wanted.name) < ${limit}::int
              order by id desc offset ${scanned}::int - 1 limit 1)
          ) last order by last.id desc limit 1) as end_id
      )
      ${CUT_PAGE}`,
  );

/** Uses index job_parked. */
const listParked = (db: Db, { workspaceId, laneId, states, tags, before, limit }: JobsPage, scanned: number): Promise<ListedJob[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), matched as (
        select ${LISTED_COLUMNS}, null::text as result
        from (select * from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
          and state in ('delayed', 'pending_approval', 'failed') order by id desc limit ${scanned}) scanned
        where state = any(${states}::job_state[]) and (${tags}::text[] is null or tag = any(${tags}))
        order by id desc limit ${limit}
      ), reached as (
        select case when (select count(*) from matched) < ${limit}::int then (
          select id from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST}
            and state in ('delayed', 'pending_approval', 'failed')
          order by id desc offset ${scanned}::int - 1 limit 1) end as end_id
      )
      ${CUT_PAGE}`,
  );

/** Uses index job_active, which has no more entries than all nodes and workers have jobs in flight. */
const listActive = (db: Db, { workspaceId, laneId, tags, before, limit }: JobsPage): Promise<ListedJob[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), matched as (
        select ${LISTED_COLUMNS}, null::text as result from job
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before ?? NEWEST} and state = 'active'
          and (${tags}::text[] is null or tag = any(${tags}))
        order by id desc limit ${limit}
      ), reached as (
        select null::uuid as end_id
      )
      ${CUT_PAGE}`,
  );
