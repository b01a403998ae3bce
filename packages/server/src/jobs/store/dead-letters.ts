import type { DeadLetterFilter, RetryAll } from "@tidemill/contract";
import { type Db, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { ASSIGN_SLOTS_OF_MOVED } from "./fragments.ts";

/** Selects failed jobs of one queue, or of all queues when `laneId` is null. Every given filter must match. */
export interface DeadLetterQuery {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId | null;
  readonly filter: Omit<DeadLetterFilter, "queue"> & RetryAll;
}

/**
 * Moves jobs that failed no later than `until` to `waiting`, with fresh attempts. Uses index job_parked to pick them and job_failed to
 * move them, with an array of ids between the two. With a join, a plan made while the table was small would read every job of the
 * workspace for each picked one.
 */
export const retryFailed = (
  db: Db,
  { workspaceId, laneId, filter }: DeadLetterQuery,
  until: Timestamp,
  limit: number,
): Promise<{ lane_id: LaneId; jobs: number }[]> =>
  rows(
    db,
    sql`
      with picked as (
        select j.id
        from lane l join job j on j.workspace_id = l.workspace_id and j.lane_id = l.id and j.state = 'failed'
        where l.workspace_id = ${workspaceId} and l.deleted_at is null and (${laneId}::bigint is null or l.id = ${laneId})
          and j.finished_at <= ${until}::timestamptz and (${filter.tag}::text is null or j.tag = ${filter.tag})
          and (${filter.error}::text is null or j.error_code = ${filter.error})
          and (${filter.failed_before}::timestamptz is null or j.finished_at < ${filter.failed_before})
          and (${filter.failed_after}::timestamptz is null or j.finished_at >= ${filter.failed_after})
        limit ${limit} for update of j skip locked
      ), moved as (
        update job set state = 'waiting', spared = attempt, node_losses = 0, run_at = moment(), finished_at = null
        where workspace_id = ${workspaceId} and state = 'failed' and id = any(array(select id from picked))
        returning workspace_id, lane_id, concurrency_key
      )
      select lane_id, count(*) as jobs, ${ASSIGN_SLOTS_OF_MOVED} as assigned
      from moved group by lane_id`,
  );

/** Removes failed jobs, picked as in `retryFailed`. Returns their number. */
export const purgeFailed = async (
  db: Db,
  { workspaceId, laneId, filter }: DeadLetterQuery,
  until: Timestamp,
  limit: number,
): Promise<number> =>
  (
    await row<{ jobs: number }>(
      db,
      sql`
        with picked as (
          select j.id
          from lane l join job j on j.workspace_id = l.workspace_id and j.lane_id = l.id and j.state = 'failed'
          where l.workspace_id = ${workspaceId} and l.deleted_at is null and (${laneId}::bigint is null or l.id = ${laneId})
            and j.finished_at <= ${until}::timestamptz and (${filter.tag}::text is null or j.tag = ${filter.tag})
            and (${filter.error}::text is null or j.error_code = ${filter.error})
          limit ${limit} for update of j skip locked
        ), gone as (
          delete from job
          where workspace_id = ${workspaceId} and state = 'failed' and id = any(array(select id from picked))
          returning id
        )
        select count(*) as jobs from gone`,
    )
  )?.jobs ?? 0;
