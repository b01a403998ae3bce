import type { JobRow } from "#jobs";
import { type Db, type JobId, rows, sql, type WorkspaceId } from "#kernel";

/** A page of the jobs that wait to be decided: newest first, from below `before`. Null filters hold for all. */
export interface PendingPage {
  readonly workspaceId: WorkspaceId;
  readonly queues: readonly string[] | null;
  readonly tags: readonly string[] | null;
  readonly before: JobId | null;
  readonly most: number;
}

/** Above every id. */
const NEWEST = "ffffffff-ffff-ffff-ffff-ffffffffffff" as JobId;

/**
 * Lists jobs that wait to be decided, of all queues, with their queue's name. Leans on job_pending, whose order it keeps: joined, a
 * plan could read all that is parked in each queue.
 */
export const listPending = (
  db: Db,
  { workspaceId, queues, tags, before, most }: PendingPage,
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
      order by j.id desc limit ${most}`,
  );
