import type { ScheduleState } from "@tidemill/contract";
import { CUT_PAGE, type Db, MAX_SCANNED_ROWS, type PageRow, rows, sql, type WorkspaceId } from "#kernel";
import type { Schedule, ScheduleId } from "./schedule.ts";

/** A page of schedules, newest first: those with an id below `before`. A filter that is null matches all. */
export interface SchedulesPage {
  readonly workspaceId: WorkspaceId;
  readonly queues: readonly string[] | null;
  readonly states: readonly ScheduleState[] | null;
  readonly before: number | null;
  readonly limit: number;
  /** The maximum number of rows to read when no index serves the filters. */
  readonly maxScanned?: number;
}

/** A schedule of a page, or the end of its scan. */
type ListedSchedule = Schedule & PageRow<ScheduleId>;

/**
 * Lists schedules of queues. With a filter by queue it reads only the schedules of these queues. Together, the scans of a statement read at
 * most `maxScanned` rows.
 */
export function listSchedules(db: Db, { maxScanned = MAX_SCANNED_ROWS, ...page }: SchedulesPage): Promise<ListedSchedule[]> {
  const queues = page.queues && [...new Set(page.queues)];
  if (queues === null) return listAny(db, page, maxScanned);
  return listOfQueues(db, page, queues, Math.max(1, Math.floor(maxScanned / queues.length)));
}

/** Uses the primary key. */
const listAny = (db: Db, { workspaceId, states, before, limit }: SchedulesPage, scanned: number): Promise<ListedSchedule[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), matched as (
        select s.*, l.queue, null::text as result
        from (select * from schedule where workspace_id = ${workspaceId} and (${before}::bigint is null or id < ${before})
          order by id desc limit ${scanned}) s
        cross join lateral (select name as queue, kind from lane where lane.workspace_id = s.workspace_id and lane.id = s.lane_id offset 0) l
        where l.kind = 'queue' and (${states}::text[] is null or case when s.paused then 'paused' else 'active' end = any(${states}))
        order by s.id desc limit ${limit}
      ), reached as (
        select case when (select count(*) from matched) < ${limit}::int then (
          select id from schedule where workspace_id = ${workspaceId} and (${before}::bigint is null or id < ${before})
          order by id desc offset ${scanned}::int - 1 limit 1) end as end_id
      )
      ${CUT_PAGE}`,
  );

/** Uses indexes lane_name and schedule_lane, once for each queue. */
const listOfQueues = (
  db: Db,
  { workspaceId, states, before, limit }: SchedulesPage,
  queues: readonly string[],
  scanned: number,
): Promise<ListedSchedule[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), wanted as (
        select id, name from lane where workspace_id = ${workspaceId} and kind = 'queue' and name = any(${queues}) and deleted_at is null
      ), matched as (
        select s.*, wanted.name as queue, null::text as result from wanted cross join lateral (
          select * from (select * from schedule where workspace_id = ${workspaceId} and lane_id = wanted.id
            and (${before}::bigint is null or id < ${before}) order by id desc limit ${scanned}) scanned
          where ${states}::text[] is null or case when paused then 'paused' else 'active' end = any(${states})
          order by id desc limit ${limit}) s
      ), reached as (
        select max(last.id) as end_id from wanted cross join lateral (
          select id from schedule where workspace_id = ${workspaceId} and lane_id = wanted.id
            and (${before}::bigint is null or id < ${before})
            and (select count(*) from matched where lane_id = wanted.id) < ${limit}::int
          order by id desc offset ${scanned}::int - 1 limit 1) last
      )
      ${CUT_PAGE}`,
  );
