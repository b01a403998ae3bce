import type { ScheduleState } from "@tidemill/contract";
import { type Db, rows, sql, type WorkspaceId } from "#kernel";
import type { Schedule } from "./schedule.ts";

/** A page of schedules, newest first: those with an id below `before`. A filter that is null matches all. */
export interface SchedulesPage {
  readonly workspaceId: WorkspaceId;
  readonly queues: readonly string[] | null;
  readonly states: readonly ScheduleState[] | null;
  readonly before: number | null;
  readonly limit: number;
}

/** Lists schedules. With a filter by queue it reads only those of these queues. */
export const listSchedules = (db: Db, page: SchedulesPage): Promise<Schedule[]> =>
  page.queues === null ? listAny(db, page) : listOfQueues(db, page, page.queues);

/** Uses the primary key. */
const listAny = (db: Db, { workspaceId, states, before, limit }: SchedulesPage): Promise<Schedule[]> =>
  rows(
    db,
    sql`
      select s.*, l.name as queue from schedule s join lane l on l.workspace_id = s.workspace_id and l.id = s.lane_id
      where s.workspace_id = ${workspaceId} and (${before}::bigint is null or s.id < ${before})
        and (${states}::text[] is null or case when s.paused then 'paused' else 'active' end = any(${states}))
      order by s.id desc limit ${limit}`,
  );

/** Uses indexes lane_name and schedule_lane. */
const listOfQueues = (db: Db, { workspaceId, states, before, limit }: SchedulesPage, queues: readonly string[]): Promise<Schedule[]> =>
  rows(
    db,
    sql`
      select s.*, l.name as queue from lane l join schedule s on s.workspace_id = l.workspace_id and s.lane_id = l.id
      where l.workspace_id = ${workspaceId} and l.kind = 'queue' and l.name = any(${queues}) and l.deleted_at is null
        and (${before}::bigint is null or s.id < ${before})
        and (${states}::text[] is null or case when s.paused then 'paused' else 'active' end = any(${states}))
      order by s.id desc limit ${limit}`,
  );
