import type { JobState } from "@tidemill/contract";
import { type Db, row, sql } from "#kernel";
import type { JobKey, JobRow } from "../job.ts";
import { COUNT_ADDED, COUNT_GONE, COUNT_REVIVED, UNCOUNT_TAKEN } from "./counts.ts";
import { ARCHIVE_GONE, ASSIGN_SLOTS_OF_GONE, ASSIGN_SLOTS_OF_MOVED, ASSIGN_SLOTS_OF_WAITING, RESTORE_TAKEN } from "./fragments.ts";

/** A live or finished job. Uses the primary keys of job and of job_history's partitions. */
export const findJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<(JobRow & { attempts_log: string }) | null> =>
  row(db, sql`select * from job_record where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}`);

/** Locks the concurrency key of a waiting job, if it has one, until the transaction ends. Returns whether a key was locked. */
export const lockKeyOfWaiting = async (tx: Db, { workspaceId, laneId, id }: JobKey): Promise<boolean> =>
  (await row(
    tx,
    sql`
      select lock_keys(array[lane_id], array[concurrency_key]) from job
      where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
        -- Not "is not null", which would allow index job_key: a plan that was made for few keys would read it from end to end.
        and state = 'waiting' and coalesce(concurrency_key, '') <> ''`,
  )) !== null;

/**
 * Cancels a job that has not finished (I4). If another statement moves the job at the same moment, one of the two wins. An attempt under
 * way is logged as cancelled, and its claim is no longer valid.
 *
 * A job with a concurrency key is cancelled only if it waits and the key is locked, or if it does not wait and the key is not locked.
 * This keeps the order of locks: while slots of a key are assigned, only claims may hold locks on its waiting jobs. A statement that moves
 * another job locks the job first, and the key after it.
 */
export const cancelJob = (
  db: Db,
  { workspaceId, laneId, id }: JobKey,
  keyIsLocked: boolean,
): Promise<(JobRow & { claimed_by: number | null }) | null> =>
  row(
    db,
    sql`
      with gone as (
        delete from job
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
          and state in ('waiting', 'delayed', 'pending_approval', 'active')
          and (concurrency_key is null or (state = 'waiting') = ${keyIsLocked}::boolean)
        returning *, 'cancelled'::job_state as final_state, approval as final_approval, null::text as result,
          case when state = 'active' then log_attempt(attempts_log, attempt, started_at, lease_id, 'cancelled', null) else attempts_log end as final_log
      ), archived as (
        ${ARCHIVE_GONE}
        returning *
      ), tallied as (
        ${COUNT_GONE}
      )
      select archived.*, gone.lease_id as claimed_by, ${ASSIGN_SLOTS_OF_GONE} as assigned
      from archived join gone using (id)`,
  );

/** Removes a finished job. Returns whether it had failed, or null when there was no such job. Uses the primary keys. */
export const removeJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<{ failed: boolean } | null> =>
  row(
    db,
    sql`
      with failed as (
        delete from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'failed'
        returning workspace_id, lane_id
      ), purged as (
        insert into job_delta (workspace_id, lane_id, at, dead) select workspace_id, lane_id, moment(), -1 from failed
      ), taken as (
        delete from job_history
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and expires_at > moment() returning *
      ), tallied as (
        ${UNCOUNT_TAKEN}
      )
      select true as failed from failed union all select false from taken`,
  );

/** Moves a failed job to `waiting`. Its attempts keep their numbers (I5), and those started so far become spared. Uses the primary key. */
export const retryFailedJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<JobRow | null> =>
  row(
    db,
    sql`
      with moved as (
        update job set state = 'waiting', spared = attempt, node_losses = 0, run_at = moment(), finished_at = null
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'failed'
        returning *
      ), tallied as (
        ${COUNT_REVIVED}
      )
      select moved.*, null as result, ${ASSIGN_SLOTS_OF_MOVED} as assigned from moved`,
  );

/**
 * Restores a cancelled or rejected job from history. A cancelled job of an approval queue that was never decided returns to
 * `pending_approval`, all others to `waiting`. Returns null when that state is not `to`, or there is no such job. Uses the primary keys.
 */
export const restoreJob = (
  db: Db,
  { workspaceId, laneId, id }: JobKey,
  to: Extract<JobState, "waiting" | "pending_approval">,
): Promise<(JobRow & { was: JobState }) | null> =>
  row(
    db,
    sql`
      with taken as (
        delete from job_history
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
          and state in ('cancelled', 'rejected') and expires_at > moment()
          and (state = 'cancelled' and approval is null and exists (
            select from queue q where q.workspace_id = ${workspaceId} and q.id = ${laneId} and q.type = 'approval')) = ${to === "pending_approval"}
        returning *, ${to}::job_state as to_state
      ), tallied as (
        ${UNCOUNT_TAKEN}
      ), moved as (
        ${RESTORE_TAKEN}
        returning *
      ), added as (
        ${COUNT_ADDED}
      )
      select moved.*, null as result, taken.state as was, ${ASSIGN_SLOTS_OF_WAITING} as assigned
      from moved join taken using (id)`,
  );
