import { Fragment, fragment } from "#kernel";

/*
 * What statements on jobs share. Each move of a job is one statement. With these parts it also writes the history and assigns the slots of
 * concurrency keys. counts.ts has the parts that count. docs/sql.md explains the idioms.
 */

/** The columns that `job` and `job_history` share, without those that change when a job finishes. */
const LIFELONG = fragment`workspace_id, lane_id, id, kind, priority, attempt, spared, attempts, backoff_delay_ms, run_at, created_at,
  started_at, tag, concurrency_key, idempotency_key, schedule, scheduled_for, traceparent, tracestate, payload, last_error`;

/**
 * Writes the jobs of CTE `gone` to history, with the retention of their workspace's plan. In addition to the columns of `job`, `gone` has
 * `final_state`, `final_log`, `final_approval` and `result`.
 */
export const ARCHIVE_GONE = fragment`
  insert into job_history (${LIFELONG}, state, finished_at, attempts_log, approval, result, expires_at)
  select ${LIFELONG}, final_state, moment(), final_log, final_approval, result,
    coalesce(moment() + retention_days * interval '1 day', 'infinity')
  from gone join (select id as owner_id, retention_days from workspace) owner on owner_id = workspace_id`;

/** Inserts the jobs of CTE `taken`, rows of history, as live jobs in `to_state` with fresh attempts. */
export const RESTORE_TAKEN = fragment`
  insert into job (${LIFELONG}, state, attempts_log, approval, decide_at)
  select workspace_id, lane_id, id, kind, priority, attempt, attempt, attempts, backoff_delay_ms, moment(), created_at,
    started_at, tag, concurrency_key, idempotency_key, schedule, scheduled_for, traceparent, tracestate, payload, last_error, to_state, attempts_log, approval,
    case when to_state = 'pending_approval' then moment() + approval_timeout * interval '1 second' end
  from taken left join (select workspace_id as owner_id, id as queue_id, approval_timeout from queue) q on owner_id = workspace_id and queue_id = lane_id`;

const slotsOf = (cte: ReturnType<typeof fragment>) => fragment`(
  select assign_key_slots(array_agg(workspace_id), array_agg(lane_id), array_agg(concurrency_key)) from ${cte} where concurrency_key is not null)`;

/** Part of the select list that ends a move: assigns the slots of the keys of its jobs. */
export const ASSIGN_SLOTS_OF_MOVED = slotsOf(fragment`moved`);
export const ASSIGN_SLOTS_OF_GONE = slotsOf(fragment`gone`);
/** The same for a move that frees no slot, and after which only some of its jobs wait. */
export const ASSIGN_SLOTS_OF_WAITING = slotsOf(fragment`(select * from moved where state = 'waiting') waiting`);

/**
 * CTEs for moves of jobs of many workspaces, which must not wait for one of them. `free` has the concurrency keys of CTE `found` that no
 * other transaction has locked. `locked` has the jobs of the other keys, and `movable` all other jobs of `found`. Each key is locked with
 * the lock of function `lock_keys`, so that assigning its slots does not wait. With `waits`, all keys count as free, and the move waits for
 * those that are locked.
 */
export const movableOf = (found: Fragment, waits: Fragment) => fragment`
  free as materialized (
    select lane_id, concurrency_key from (select distinct lane_id, concurrency_key from ${found} where concurrency_key is not null offset 0) k
    where ${waits} or pg_try_advisory_xact_lock((lane_id & 511)::integer, hashtext(concurrency_key) & 7)
  ), movable as (
    select * from ${found} where concurrency_key is null or (lane_id, concurrency_key) in (select lane_id, concurrency_key from free)
  ), locked as (
    select * from ${found} where concurrency_key is not null and (lane_id, concurrency_key) not in (select lane_id, concurrency_key from free)
  )`;

/** The columns of a claim, without the payload and what was read from the lane. */
export const CLAIMED_COLUMNS = fragment`job.workspace_id as "workspaceId", job.lane_id as "laneId", job.id, job.kind,
  job.lease_id as "leaseId", job.attempt, job.attempts, job.spared, job.backoff_delay_ms as "backoffDelayMs", job.tag,
  job.concurrency_key as "concurrencyKey", job.created_at as "createdAt", job.started_at as "startedAt", job.schedule,
  job.scheduled_for as "scheduledFor", job.traceparent, job.tracestate`;

/**
 * The `lease_until` of a worker's claim that was found to have expired. Such a claim is settled as expired, and can no longer be extended
 * (I3).
 */
export const ENDED_LEASE = fragment`'epoch'::timestamptz`;

/** Whether a job can be claimed: the predicate of index job_claimable. */
export const CLAIMABLE = fragment`state = 'waiting' and (concurrency_key is null or key_slot is not null)`;

/**
 * A condition in addition to the join with a CTE: job `j` is one of the CTE's jobs. On a connection of a workspace, a join alone may begin
 * with all jobs of the workspace (docs/sql.md).
 */
const among = (cte: string) =>
  new Fragment(`j.lane_id = any(array(select lane_id from ${cte})) and j.id = any(array(select id from ${cte}))`);
export const AMONG_DUE = among("due");
export const AMONG_WAS = among("was");
