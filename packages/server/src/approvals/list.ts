import type { JobRow } from "#jobs";
import { type Db, type JobId, rows, sql, type WorkspaceId } from "#kernel";

/** A page of the jobs that are pending approval: newest first, with ids below `before`. A null filter matches all jobs. */
export interface PendingPage {
  readonly workspaceId: WorkspaceId;
  readonly queues: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly before: JobId | null;
  readonly limit: number;
}

/** Greater than every id. */
const NEWEST = "ffffffff-ffff-ffff-ffff-ffffffffffff" as JobId;

/**
 * Lists jobs of all queues that are pending approval, with the name of their queue. Uses index job_pending. The lane is read by a
 * lateral subquery: for a join, the planner could read all delayed, pending and failed jobs of each queue.
 */
export const listPending = (
  db: Db,
  { workspaceId, queues, tags, before, limit }: PendingPage,
): Promise<(JobRow & { readonly queue: string })[]> =>
  rows(
    db,
    sql`
      select j.*, null as result, l.name as queue
      from (
        select * from job
        where workspace_id = ${workspaceId} and state = 'pending_approval' and id < ${before ?? NEWEST}
          and (${tags}::text[] is null or tag = any(${tags}))
        order by id desc offset 0
      ) j
      cross join lateral (
        select name from lane
        where lane.workspace_id = j.workspace_id and lane.id = j.lane_id and coalesce(deleted_at, 'infinity') = 'infinity'
          and (${queues}::text[] is null or name = any(${queues}))
        offset 0
      ) l
      order by j.id desc limit ${limit}`,
  );
