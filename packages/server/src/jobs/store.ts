import type { JobState } from "@tidemill/contract";
import { type Db, type JobId, plainArray, row, rows, sql, textArray, type Timestamp, toMoment, type WorkspaceId } from "#kernel";
import type { LaneId } from "#queues";
import type { NewJob } from "./enqueue.ts";
import type { JobKey, JobRow } from "./job.ts";

export interface JobToInsert extends NewJob {
  readonly id: JobId;
  /** The node that would start the job at once if its lane has nothing before it. */
  readonly nodeId: number | null;
}

export interface InsertedJob {
  readonly id: JobId;
  readonly lane_id: LaneId;
  readonly state: JobState;
  readonly attempts: number;
  readonly backoff_delay_ms: number;
  readonly run_at: Timestamp;
  readonly created_at: Timestamp;
  readonly revision: number;
}

/**
 * Writes jobs of many requests in one statement, in the order given. Jobs of a queue that is not there are left out.
 * A job goes straight through, written as claimed, only when nothing of its lane waits before it. Leans on queue_name
 * and job_claimable.
 */
export function insertJobsAcrossWorkspaces(
  db: Db,
  requests: readonly { workspaceId: WorkspaceId; queue: string; jobs: readonly JobToInsert[] }[],
): Promise<InsertedJob[]> {
  const jobs = requests.flatMap((request) => request.jobs);
  const perJob = <Value>(of: (request: (typeof requests)[number]) => Value) => requests.flatMap((request) => request.jobs.map(() => of(request)));
  const column = <Value>(of: (job: JobToInsert) => Value) => jobs.map(of);
  return rows(
    db,
    sql`
      insert into job (workspace_id, lane_id, id, state, priority, attempt, attempts, backoff_delay_ms, node_id,
        run_at, created_at, started_at, tag, concurrency_key, payload)
      select n.workspace_id, q.id, n.id, fate.state, n.priority, case when fate.state = 'active' then 1 else 0 end,
        coalesce(n.attempts, q.attempts), coalesce(n.backoff_delay_ms, q.backoff_delay_ms),
        case when fate.state = 'active' then n.node_id end,
        due.run_at, moment(), case when fate.state = 'active' then moment() end, n.tag, n.concurrency_key, n.payload
      from unnest(
        ${plainArray(perJob(({ workspaceId }) => workspaceId))}::uuid[], ${textArray(perJob(({ queue }) => queue))}::text[],
        ${plainArray(column(({ id }) => id))}::uuid[], ${textArray(column(({ payload }) => payload))}::text[],
        ${plainArray(column(({ delaySeconds }) => delaySeconds))}::int[],
        ${textArray(column(({ runAtMs }) => (runAtMs === null ? null : toMoment(runAtMs))))}::timestamptz[],
        ${textArray(column(({ tag }) => tag))}::text[], ${plainArray(column(({ priority }) => priority))}::smallint[],
        ${textArray(column(({ concurrencyKey }) => concurrencyKey))}::text[],
        ${plainArray(column(({ attempts }) => attempts))}::int[], ${plainArray(column(({ backoffDelayMs }) => backoffDelayMs))}::int[],
        ${plainArray(column(({ nodeId }) => nodeId))}::bigint[]
      ) as n (workspace_id, queue, id, payload, delay_seconds, run_at, tag, priority, concurrency_key, attempts, backoff_delay_ms, node_id)
      join queue q on q.workspace_id = n.workspace_id and q.name = n.queue and q.deleted_at is null
      cross join lateral (select coalesce(n.run_at, moment() + n.delay_seconds * interval '1 second') as run_at) due
      cross join lateral (
        select (case
          when q.type = 'approval' then 'pending_approval'
          when due.run_at > moment() then 'delayed'
          when n.node_id is not null and q.callback_url is not null and not q.paused
            and exists (select from node where node.id = n.node_id and node.lease_until > now())
            and not exists (
              select from job w where w.workspace_id = n.workspace_id and w.lane_id = q.id and w.state = 'waiting')
            then 'active'
          else 'waiting' end)::job_state as state
      ) fate
      returning id, lane_id, state, attempts, backoff_delay_ms, run_at, created_at,
        (select revision from queue q where q.workspace_id = job.workspace_id and q.id = job.lane_id) as revision`,
  );
}

/** Leans on the primary keys of job and of job_history's partitions. */
export const findJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<(JobRow & { attempts_log: string }) | null> =>
  row(db, sql`select * from job_record where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}`);

/** Newest first, from below `before`. Leans on the primary keys. */
export const listJobs = (
  db: Db,
  workspaceId: WorkspaceId,
  laneId: LaneId,
  { states, tags, before, most }: { states: readonly JobState[] | null; tags: readonly string[] | null; before: JobId | null; most: number },
): Promise<JobRow[]> =>
  rows(
    db,
    sql`
      select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key,
        payload, result, last_error
      from job_record
      where workspace_id = ${workspaceId} and lane_id = ${laneId}
        and (${before}::uuid is null or id < ${before}) and (${states}::job_state[] is null or state = any(${states}))
        and (${tags}::text[] is null or tag = any(${tags}))
      order by id desc limit ${most}`,
  );

/**
 * Ends a job that has not finished (I4). Whoever else moves it at the same moment wins or loses whole: the row is there or
 * it is gone. An attempt under way is logged as cancelled; its claim moves nothing any more.
 */
export const cancelJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<(JobRow & { claimed_by: number | null }) | null> =>
  row(
    db,
    sql`
      with gone as (
        delete from job
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
          and state in ('waiting', 'delayed', 'pending_approval', 'active')
        returning *
      ), kept as (
        insert into job_history (workspace_id, lane_id, id, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at,
          created_at, started_at, finished_at, tag, concurrency_key, payload, last_error, attempts_log, expires_at)
        select g.workspace_id, lane_id, g.id, 'cancelled', priority, attempt, spared, attempts, backoff_delay_ms, run_at,
          g.created_at, started_at, moment(), tag, concurrency_key, payload, last_error,
          case when g.state <> 'active' then attempts_log else
            concat_ws(',', nullif(attempts_log, ''), json_build_object('attempt', attempt, 'started_at',
              to_char(started_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
              'duration_ms', extract(milliseconds from moment() - started_at), 'outcome', 'cancelled',
              'status', null, 'error', null, 'worker', null)::text) end,
          coalesce(moment() + w.retention_days * interval '1 day', 'infinity')
        from gone g join workspace w on w.id = g.workspace_id
        returning *
      ), counted as (
        insert into tally (workspace_id, lane_id, at, cancelled) select workspace_id, lane_id, moment(), 1 from gone
      )
      select kept.*, gone.node_id as claimed_by from kept join gone using (id)`,
  );

/** Removes a finished job. Answers whether there was one. */
export const removeJob = async (db: Db, { workspaceId, laneId, id }: JobKey): Promise<boolean> =>
  (await row(
    db,
    sql`
      with failed as (
        delete from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'failed' returning id
      ), finished as (
        delete from job_history
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and expires_at > moment() returning *
      ), counted as (
        insert into tally (workspace_id, lane_id, at, completed, cancelled, rejected)
        select workspace_id, lane_id, finished_at, -(state = 'completed')::int, -(state = 'cancelled')::int, -(state = 'rejected')::int
        from finished
      )
      select id from failed union all select id from finished`,
  )) !== null;

/** A failed job waits again. Attempts go on counting (I5); those started so far no longer count against it. */
export const retryFailedJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<JobRow | null> =>
  row(
    db,
    sql`
      update job set state = 'waiting', spared = attempt, node_losses = 0, run_at = moment(), finished_at = null
      where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'failed'
      returning *, null as result`,
  );

/** A cancelled or rejected job comes back from history and waits again. */
export const retryFinishedJob = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<JobRow | null> =>
  row(
    db,
    sql`
      with gone as (
        delete from job_history
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
          and state in ('cancelled', 'rejected') and expires_at > moment()
        returning *
      ), counted as (
        insert into tally (workspace_id, lane_id, at, cancelled, rejected)
        select workspace_id, lane_id, finished_at, -(state = 'cancelled')::int, -(state = 'rejected')::int from gone
      )
      insert into job (workspace_id, lane_id, id, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at, created_at,
        started_at, tag, concurrency_key, payload, last_error, attempts_log)
      select workspace_id, lane_id, id, 'waiting', priority, attempt, attempt, attempts, backoff_delay_ms, moment(), created_at,
        started_at, tag, concurrency_key, payload, last_error, attempts_log
      from gone
      returning *, null as result`,
  );
