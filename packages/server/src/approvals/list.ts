import type { PendingJob } from "@tidemill/contract";
import { LISTED_COLUMNS, type ListedJob, NEWEST } from "#jobs";
import { CUT_PAGE, type Db, type JobId, MAX_SCANNED_ROWS, rows, sql, type WorkspaceId } from "#kernel";

/** A page of the jobs that are pending approval: newest first, with ids below `before`. A null filter matches all jobs. */
export interface PendingPage {
  readonly workspaceId: WorkspaceId;
  readonly queues: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly before: JobId | null;
  readonly limit: number;
  /** The maximum number of rows to read. */
  readonly maxScanned?: number;
}

/** A job that is pending approval, its queue, and when the queue decides it by itself. */
export type PendingJobRow = ListedJob & Pick<PendingJob, "queue" | "decide_at" | "on_timeout">;

/**
 * Lists jobs of all queues that are pending approval, with the name of their queue. Uses index job_pending. The lane is read by a
 * lateral subquery: for a join, the planner could read all delayed, pending and failed jobs of each queue.
 */
export const listPending = (
  db: Db,
  { workspaceId, queues, tags, before, limit, maxScanned = MAX_SCANNED_ROWS }: PendingPage,
): Promise<PendingJobRow[]> =>
  rows(
    db,
    sql`
      with requested as (
        select ${limit}::int as records
      ), matched as (
        select ${LISTED_COLUMNS}, null::text as result, l.queue, case when q.approval_timeout is not null then j.decide_at end as decide_at,
          case when q.approval_timeout is not null and j.decide_at is not null then q.on_timeout end as on_timeout
        from (select * from job where workspace_id = ${workspaceId} and state = 'pending_approval' and id < ${before ?? NEWEST}
          order by id desc limit ${maxScanned}) j
        cross join lateral (
          select name as queue from lane
          where lane.workspace_id = j.workspace_id and lane.id = j.lane_id and coalesce(deleted_at, 'infinity') = 'infinity'
            and (${queues}::text[] is null or name = any(${queues}))
          offset 0) l
        cross join lateral (
          select approval_timeout, on_timeout from queue where queue.workspace_id = j.workspace_id and queue.id = j.lane_id offset 0) q
        where ${tags}::text[] is null or tag = any(${tags})
        order by id desc limit ${limit}
      ), reached as (
        select case when (select count(*) from matched) < ${limit}::int then (
          select id from job where workspace_id = ${workspaceId} and state = 'pending_approval' and id < ${before ?? NEWEST}
          order by id desc offset ${maxScanned}::int - 1 limit 1) end as end_id
      )
      ${CUT_PAGE}`,
  );
