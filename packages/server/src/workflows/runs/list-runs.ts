import type { RunStatus } from "@tidemill/contract";
import { CUT_PAGE, type Db, MAX_SCANNED_ROWS, type PageRow, type RunId, rows, sql, type WorkspaceId } from "#kernel";
import type { RunRow } from "./run.ts";
import { LISTED } from "./run-store.ts";

/** A page of runs: newest first, with ids below `before`. A null filter matches all runs. */
export interface RunsPage {
  readonly workspaceId: WorkspaceId;
  readonly statuses: readonly RunStatus[] | null;
  readonly laneId: number | null;
  readonly before: RunId | null;
  readonly limit: number;
  /** The maximum number of rows to read when no index serves the filters. */
  readonly maxScanned?: number;
}

/** A run of a page, or the end of its scan. */
export type ListedRunRow = RunRow & PageRow<RunId>;

/** Greater than every id. */
const NEWEST = "ffffffff-ffff-ffff-ffff-ffffffffffff" as RunId;

/** Lists runs of workflows that are not deleted. The filters decide which statement is used, so that it reads few rows that do not match. */
export function listRuns(db: Db, { maxScanned = MAX_SCANNED_ROWS, before, ...page }: RunsPage): Promise<ListedRunRow[]> {
  const scan = { ...page, before: before ?? NEWEST, scanned: maxScanned };
  const statuses = page.statuses && [...new Set(page.statuses)];
  if (page.laneId !== null) return listOfLane(db, scan, page.laneId);
  return statuses
    ? listWithStatuses(db, { ...scan, scanned: Math.max(1, Math.floor(maxScanned / statuses.length)) }, statuses)
    : listAll(db, scan);
}

interface Scan extends Omit<RunsPage, "maxScanned" | "before"> {
  readonly before: RunId;
  readonly scanned: number;
}

/** Uses index run_lane. */
const listOfLane = (db: Db, { workspaceId, statuses, before, limit, scanned }: Scan, laneId: number): Promise<ListedRunRow[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), matched as (
        select ${LISTED}, '' as payload, null::text as result
        from (select * from run where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before}
          order by id desc limit ${scanned}) r
        join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id and l.deleted_at is null
        where ${statuses}::run_status[] is null or r.status = any(${statuses})
        order by r.id desc limit ${limit}
      ), reached as (
        select case when (select count(*) from matched) < ${limit}::int then (
          select id from run where workspace_id = ${workspaceId} and lane_id = ${laneId} and id < ${before}
          order by id desc offset ${scanned}::int - 1 limit 1) end as end_id
      )
      ${CUT_PAGE}`,
  );

/** Uses index run_status, once for each status. */
const listWithStatuses = (db: Db, { workspaceId, before, limit, scanned }: Scan, statuses: readonly RunStatus[]): Promise<ListedRunRow[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), wanted as (
        select unnest(${statuses}::run_status[]) as status
      ), matched as (
        select m.* from wanted cross join lateral (
          select ${LISTED}, '' as payload, null::text as result
          from (select * from run where workspace_id = ${workspaceId} and status = wanted.status and id < ${before}
            order by id desc limit ${scanned}) r
          join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id and l.deleted_at is null
          order by r.id desc limit ${limit}) m
      ), reached as (
        select (
          select last.id from wanted cross join lateral (
            select id from run where workspace_id = ${workspaceId} and status = wanted.status and id < ${before}
              and (select count(*) from matched where status = wanted.status) < ${limit}::int
            order by id desc offset ${scanned}::int - 1 limit 1
          ) last order by last.id desc limit 1) as end_id
      )
      ${CUT_PAGE}`,
  );

/** Uses the primary key. */
const listAll = (db: Db, { workspaceId, before, limit, scanned }: Scan): Promise<ListedRunRow[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), matched as (
        select ${LISTED}, '' as payload, null::text as result
        from (select * from run where workspace_id = ${workspaceId} and id < ${before} order by id desc limit ${scanned}) r
        join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id and l.deleted_at is null
        order by r.id desc limit ${limit}
      ), reached as (
        select case when (select count(*) from matched) < ${limit}::int then (
          select id from run where workspace_id = ${workspaceId} and id < ${before}
          order by id desc offset ${scanned}::int - 1 limit 1) end as end_id
      )
      ${CUT_PAGE}`,
  );
