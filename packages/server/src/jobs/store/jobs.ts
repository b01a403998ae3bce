import type { JobState } from "@tidemill/contract";
import { type Db, row, sql } from "#kernel";
import type { JobKey, JobRow } from "../job.ts";
import {
  ARCHIVE_GONE,
  ASSIGN_SLOTS_OF_GONE,
  ASSIGN_SLOTS_OF_MOVED,
  ASSIGN_SLOTS_OF_WAITING,
  RESTORE_TAKEN,
  TALLY_GONE,
  UNTALLY_TAKEN,
} from "./fragments.ts";

/** Uses the primary keys of job and of job_history's partitions. */
export const findJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<(JobRow & { attempts_log: string }) | null> =>
  row(db, sql`select * from job_record where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}`);

/** Locks the concurrency key of a job that waits, if it has one, until the transaction ends. Answers whether it did. */
export const lockKeyOfWaiting = async (tx: Db, { workspaceId, laneId, id }: JobKey): Promise<boolean> =>
  (await row(
    tx,
    sql`
      select lock_keys(array[lane_id], array[concurrency_key]) from job
      where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
        -- Not by "is not null": that would offer job_key, which a plan that was made for few keys walks from end to end.
        and state = 'waiting' and coalesce(concurrency_key, '') <> ''`,
  )) !== null;

/**
 * Ends a job that has not finished (I4). If another statement moves it at the same moment, one of them wins whole: the row is there, or
 * it is gone. An attempt under way is logged as cancelled; its claim moves nothing any more.
 *
 * Of jobs with a key, this takes those that wait if the key is locked already, and those that do not wait if it is not. While slots of
 * a key are assigned, only claims may hold its waiting jobs; a statement that moves another job has that first, and locks the key after it.
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
        ${TALLY_GONE}
      )
      select archived.*, gone.lease_id as claimed_by, ${ASSIGN_SLOTS_OF_GONE} as assigned
      from archived join gone using (id)`,
  );

/** Removes a finished job. Answers whether it had failed; null when there was none. Uses the primary keys. */
export const removeJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<{ failed: boolean } | null> =>
  row(
    db,
    sql`
      with failed as (
        delete from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'failed' returning id
      ), taken as (
        delete from job_history
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and expires_at > moment() returning *
      ), tallied as (
        ${UNTALLY_TAKEN}
      )
      select true as failed from failed union all select false from taken`,
  );

/** A failed job waits again. Its attempts go on counting (I5); those started so far no longer count against it. Uses the primary key. */
export const retryFailedJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<JobRow | null> =>
  row(
    db,
    sql`
      with moved as (
        update job set state = 'waiting', spared = attempt, node_losses = 0, run_at = moment(), finished_at = null
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'failed'
        returning *
      )
      select moved.*, null as result, ${ASSIGN_SLOTS_OF_MOVED} as assigned from moved`,
  );

/**
 * A cancelled or rejected job comes back from history: to wait, or to be decided, if it is one of an approval queue that nobody has
 * decided. Answers it if that is the state that it comes back to. Uses the primary keys.
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
        ${UNTALLY_TAKEN}
      ), moved as (
        ${RESTORE_TAKEN}
        returning *
      )
      select moved.*, null as result, taken.state as was, ${ASSIGN_SLOTS_OF_WAITING} as assigned
      from moved join taken using (id)`,
  );
