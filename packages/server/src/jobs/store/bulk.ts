import type { JobState } from "@tidemill/contract";
import { type Db, fragment, type JobId, plainArray, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { withinBytes } from "./bytes.ts";
import { COUNT_ADDED, COUNT_GONE, COUNT_PURGED, COUNT_REVIVED, UNCOUNT_TAKEN } from "./counts.ts";
import { ARCHIVE_GONE, ASSIGN_SLOTS_OF_GONE, ASSIGN_SLOTS_OF_MOVED, ASSIGN_SLOTS_OF_WAITING, RESTORE_TAKEN } from "./fragments.ts";

/**
 * Jobs of queues to change. Only those are changed that are in one of the states, and that were enqueued and, if they are finished,
 * finished by `until`.
 */
export interface ManyJobs {
  readonly workspaceId: WorkspaceId;
  readonly jobs: readonly { readonly laneId: LaneId; readonly id: JobId }[];
  readonly states: readonly JobState[];
  readonly until: Timestamp;
}

/** A job that was changed. */
export interface ChangedJob {
  readonly laneId: LaneId;
  readonly id: JobId;
  /** The lease under which the job was active. */
  readonly leaseId: number | null;
  readonly hasKey: boolean;
}

const lanesOf = (jobs: ManyJobs["jobs"]) => plainArray(jobs.map(({ laneId }) => laneId));
const idsOf = (jobs: ManyJobs["jobs"]) => plainArray(jobs.map(({ id }) => id));

/** The jobs in the order in which statements lock them. */
const IN_ORDER = fragment`(select * from requested order by lane_id, id)`;
/** The job of CTE or table `j` that is requested as `s`. */
const REQUESTED = fragment`j.workspace_id = any(array[s.workspace_id]) and j.lane_id = s.lane_id and j.id = s.id`;
/** The jobs of CTE `picked` that one statement changes. */
const WITHIN_BYTES = withinBytes(fragment`picked`, fragment`lane_id, id`);
const ELIGIBLE = fragment`${REQUESTED} and j.kind = 'queue' and j.state = any(s.states) and coalesce(j.finished_at, j.created_at) <= s.until`;
const shown = (cte: ReturnType<typeof fragment>, lease: ReturnType<typeof fragment>) => fragment`
  (select coalesce(json_agg(json_build_object('laneId', lane_id, 'id', id, 'leaseId', ${lease}, 'hasKey', concurrency_key is not null)), '[]')
    from ${cte}) as jobs`;
const NO_LEASE = fragment`null`;
const FINISHED_SIZE = fragment`octet_length(j.payload) + coalesce(octet_length(j.result), 0)`;

const jobsOf = async (found: Promise<{ jobs: ChangedJob[] } | null>): Promise<readonly ChangedJob[]> => (await found)?.jobs ?? [];

/**
 * Locks the concurrency keys of those of the jobs that wait, and returns these jobs. A cancel of such a job must hold its key before the
 * job (docs/sql.md, the lock order). Uses the primary key.
 */
export const lockKeysOfMany = (tx: Db, { workspaceId, jobs }: ManyJobs): Promise<{ laneId: LaneId; id: JobId }[]> =>
  rows(
    tx,
    sql`
      with keyed as (
        select j.* from unnest(${lanesOf(jobs)}::bigint[], ${idsOf(jobs)}::uuid[]) as s (lane_id, id)
        cross join lateral (
          select lane_id, id, concurrency_key from job j
          where j.workspace_id = any(array[${workspaceId}::uuid]) and j.lane_id = s.lane_id and j.id = s.id
            -- Not "is not null", which would allow index job_key.
            and state = 'waiting' and coalesce(concurrency_key, '') <> '' offset 0) j
      ), locked as (
        select lock_keys(array_agg(lane_id), array_agg(concurrency_key)) as done from keyed
      )
      select k.lane_id as "laneId", k.id from keyed k, locked`,
  );

/**
 * Cancels jobs as `cancelJob` does: those that wait with a concurrency key if their keys are locked, else all others. Uses the primary key.
 */
export const cancelMany = (
  tx: Db,
  { workspaceId, jobs, states, until }: ManyJobs,
  keysAreLocked: boolean,
): Promise<readonly ChangedJob[]> =>
  jobsOf(
    row(
      tx,
      sql`
      with requested as (
        select ${workspaceId}::uuid as workspace_id, u.lane_id, u.id, ${states}::job_state[] as states, ${until}::timestamptz as until
        from unnest(${lanesOf(jobs)}::bigint[], ${idsOf(jobs)}::uuid[]) as u (lane_id, id)
      ), picked as (
        select locked.* from ${IN_ORDER} s cross join lateral (
          select j.workspace_id, j.lane_id, j.id, octet_length(j.payload) as size from job j
          where ${ELIGIBLE} and (case when state = 'waiting' then coalesce(concurrency_key, '') else '' end <> '') = ${keysAreLocked}::boolean
          for update) locked
      ), gone as (
        delete from job j using ${WITHIN_BYTES} s where ${REQUESTED}
        returning j.*, 'cancelled'::job_state as final_state, j.approval as final_approval, null::text as result,
          case when j.state = 'active' then log_attempt(j.attempts_log, j.attempt, j.started_at, j.lease_id, 'cancelled', null)
            else j.attempts_log end as final_log
      ), archived as (
        ${ARCHIVE_GONE}
      ), tallied as (
        ${COUNT_GONE}
      )
      select ${shown(fragment`gone`, fragment`lease_id`)}, ${ASSIGN_SLOTS_OF_GONE} as assigned`,
    ),
  );

/** Moves failed jobs to `waiting`, as `retryFailedJob` does. Uses the primary key. */
export const retryManyFailed = (tx: Db, { workspaceId, jobs, states, until }: ManyJobs): Promise<readonly ChangedJob[]> =>
  jobsOf(
    row(
      tx,
      sql`
      with requested as (
        select ${workspaceId}::uuid as workspace_id, u.lane_id, u.id, ${states}::job_state[] as states, ${until}::timestamptz as until
        from unnest(${lanesOf(jobs)}::bigint[], ${idsOf(jobs)}::uuid[]) as u (lane_id, id)
      ), picked as (
        select locked.* from ${IN_ORDER} s cross join lateral (
          select j.workspace_id, j.lane_id, j.id from job j where ${ELIGIBLE} and state = 'failed' for update) locked
      ), moved as (
        update job j set state = 'waiting', spared = attempt, node_losses = 0, run_at = moment(), finished_at = null
        from picked s where ${REQUESTED}
        returning j.workspace_id, j.lane_id, j.id, j.state, j.concurrency_key
      ), counted as (
        ${COUNT_REVIVED}
      )
      select ${shown(fragment`moved`, NO_LEASE)}, ${ASSIGN_SLOTS_OF_MOVED} as assigned`,
    ),
  );

/** Restores cancelled and rejected jobs, as `restoreJob` does. Uses the primary keys. */
export const restoreMany = (tx: Db, { workspaceId, jobs, states, until }: ManyJobs): Promise<readonly ChangedJob[]> =>
  jobsOf(
    row(
      tx,
      sql`
      with requested as (
        select ${workspaceId}::uuid as workspace_id, u.lane_id, u.id, ${states}::job_state[] as states, ${until}::timestamptz as until
        from unnest(${lanesOf(jobs)}::bigint[], ${idsOf(jobs)}::uuid[]) as u (lane_id, id)
      ), picked as (
        select locked.* from ${IN_ORDER} s cross join lateral (
          select j.workspace_id, j.lane_id, j.id, j.expires_at, case when j.state = 'cancelled' and j.approval is null and exists (
              select from queue q where q.workspace_id = j.workspace_id and q.id = j.lane_id and q.type = 'approval')
            then 'pending_approval' else 'waiting' end::job_state as to_state, ${FINISHED_SIZE} as size
          from job_history j where ${ELIGIBLE} and state in ('cancelled', 'rejected') and expires_at > moment()
          for update of j) locked
      ), taken as (
        delete from job_history j using ${WITHIN_BYTES} s where ${REQUESTED} and j.expires_at is not distinct from s.expires_at
        returning j.*, s.to_state
      ), tallied as (
        ${UNCOUNT_TAKEN}
      ), moved as (
        ${RESTORE_TAKEN}
        returning *
      ), added as (
        ${COUNT_ADDED}
      )
      select ${shown(fragment`moved`, NO_LEASE)}, ${ASSIGN_SLOTS_OF_WAITING} as assigned`,
    ),
  );

/** Removes failed jobs. Uses the primary key. */
export const removeManyFailed = (tx: Db, { workspaceId, jobs, states, until }: ManyJobs): Promise<readonly ChangedJob[]> =>
  jobsOf(
    row(
      tx,
      sql`
      with requested as (
        select ${workspaceId}::uuid as workspace_id, u.lane_id, u.id, ${states}::job_state[] as states, ${until}::timestamptz as until
        from unnest(${lanesOf(jobs)}::bigint[], ${idsOf(jobs)}::uuid[]) as u (lane_id, id)
      ), picked as (
        select locked.* from ${IN_ORDER} s cross join lateral (
          select j.workspace_id, j.lane_id, j.id, octet_length(j.payload) as size from job j where ${ELIGIBLE} and state = 'failed'
          for update) locked
      ), moved as (
        delete from job j using ${WITHIN_BYTES} s where ${REQUESTED} returning j.*
      ), counted as (
        ${COUNT_PURGED}
      )
      select ${shown(fragment`moved`, NO_LEASE)}`,
    ),
  );

/** Removes completed, cancelled and rejected jobs. Uses the primary keys. */
export const removeManyFinished = (tx: Db, { workspaceId, jobs, states, until }: ManyJobs): Promise<readonly ChangedJob[]> =>
  jobsOf(
    row(
      tx,
      sql`
      with requested as (
        select ${workspaceId}::uuid as workspace_id, u.lane_id, u.id, ${states}::job_state[] as states, ${until}::timestamptz as until
        from unnest(${lanesOf(jobs)}::bigint[], ${idsOf(jobs)}::uuid[]) as u (lane_id, id)
      ), picked as (
        select locked.* from ${IN_ORDER} s cross join lateral (
          select j.workspace_id, j.lane_id, j.id, j.expires_at, ${FINISHED_SIZE} as size from job_history j
          where ${ELIGIBLE} and expires_at > moment() for update) locked
      ), taken as (
        delete from job_history j using ${WITHIN_BYTES} s where ${REQUESTED} and j.expires_at is not distinct from s.expires_at returning j.*
      ), tallied as (
        ${UNCOUNT_TAKEN}
      )
      select ${shown(fragment`taken`, NO_LEASE)}`,
    ),
  );
