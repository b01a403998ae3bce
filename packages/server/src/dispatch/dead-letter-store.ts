import type { JobRow } from "#jobs";
import { type Db, type JobId, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";
import type { LaneId } from "#queues";
import type { DeadLetterQuery } from "./dead-letter.ts";

/** The database's moment. */
export const momentOf = async (db: Db): Promise<Timestamp> => {
  const found = await row<{ at: string }>(db, sql`select moment()::text as at`);
  if (!found) throw new Error("A moment answered no row.");
  return found.at;
};

/** Failed jobs of the workspace with their queue's name, newest first, from below `before`. Leans on job_failed. */
export const listFailed = (
  db: Db,
  workspaceId: WorkspaceId,
  {
    queues,
    tags,
    errors,
    before,
    most,
  }: { queues: string[] | null; tags: string[] | null; errors: string[] | null; before: JobId | null; most: number },
): Promise<(JobRow & { queue: string })[]> =>
  rows(
    db,
    sql`
      select j.*, null as result, q.name as queue
      from job j join queue q on q.workspace_id = j.workspace_id and q.id = j.lane_id and q.deleted_at is null
      where j.workspace_id = ${workspaceId} and j.state = 'failed' and (${before}::uuid is null or j.id < ${before})
        and (${queues}::text[] is null or q.name = any(${queues})) and (${tags}::text[] is null or j.tag = any(${tags}))
        and (${errors}::text[] is null or j.error_code = any(${errors}))
      order by j.id desc limit ${most}`,
  );

/**
 * The jobs are picked by job_parked and moved by job_failed. Their ids go from the one to the other as an array: joined, a plan
 * made while the table was small would look at every job of the workspace for each.
 */
export const retryFailed = (
  db: Db,
  { workspaceId, laneId, filter }: DeadLetterQuery,
  until: Timestamp,
  most: number,
): Promise<{ lane_id: LaneId; jobs: number }[]> =>
  rows(
    db,
    sql`
      with picked as (
        select j.id
        from queue q join job j on j.workspace_id = q.workspace_id and j.lane_id = q.id and j.state = 'failed'
        where q.workspace_id = ${workspaceId} and q.deleted_at is null and (${laneId}::bigint is null or q.id = ${laneId})
          and j.finished_at <= ${until}::timestamptz and (${filter.tag}::text is null or j.tag = ${filter.tag})
          and (${filter.error}::text is null or j.error_code = ${filter.error})
          and (${filter.failed_before}::timestamptz is null or j.finished_at < ${filter.failed_before})
          and (${filter.failed_after}::timestamptz is null or j.finished_at >= ${filter.failed_after})
        limit ${most} for update of j skip locked
      ), moved as (
        update job set state = 'waiting', spared = attempt, node_losses = 0, run_at = moment(), finished_at = null
        where workspace_id = ${workspaceId} and state = 'failed' and id = any(array(select id from picked))
        returning workspace_id, lane_id, concurrency_key
      )
      select lane_id, count(*) as jobs, (
        select arrange_keys(array_agg(workspace_id), array_agg(lane_id), array_agg(concurrency_key)) from moved
        where concurrency_key is not null) as arranged
      from moved group by lane_id`,
  );

/** As `retryFailed`. */
export const purgeFailed = async (
  db: Db,
  { workspaceId, laneId, filter }: DeadLetterQuery,
  until: Timestamp,
  most: number,
): Promise<number> =>
  (
    await row<{ jobs: number }>(
      db,
      sql`
        with picked as (
          select j.id
          from queue q join job j on j.workspace_id = q.workspace_id and j.lane_id = q.id and j.state = 'failed'
          where q.workspace_id = ${workspaceId} and q.deleted_at is null and (${laneId}::bigint is null or q.id = ${laneId})
            and j.finished_at <= ${until}::timestamptz and (${filter.tag}::text is null or j.tag = ${filter.tag})
            and (${filter.error}::text is null or j.error_code = ${filter.error})
          limit ${most} for update of j skip locked
        ), gone as (
          delete from job
          where workspace_id = ${workspaceId} and state = 'failed' and id = any(array(select id from picked))
          returning id
        )
        select count(*) as jobs from gone`,
    )
  )?.jobs ?? 0;
