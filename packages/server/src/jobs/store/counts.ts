import { fragment } from "#kernel";

/*
 * Parts that make a move of jobs keep the counts. Each appends one row of job_delta per lane, from a CTE of the statement around it. Every
 * statement that inserts, moves or deletes jobs has one; only a claim needs none (migration 0023). test/metrics/counts.test.ts checks it.
 */

/** The bucket of how long a job has taken since it was due, in a row of `job` that completes now. */
const LATENCY_BUCKET = fragment`latency_bucket(date_part('epoch', moment() - greatest(run_at, created_at)) * 1000)`;

/** Completed jobs, by lane: CTE `counted (workspace_id, lane_id, jobs, latencies)` of CTE `gone`. */
export const COMPLETED_BY_LANE = fragment`
  select workspace_id, lane_id, count(*) as jobs, array_agg(${LATENCY_BUCKET}) as latencies from gone group by workspace_id, lane_id`;

/** Counts completed jobs, from CTE `counted`. */
export const COUNT_COMPLETED = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, completed, latencies)
  select workspace_id, lane_id, moment(), -jobs, jobs, latencies from counted`;

/**
 * Enqueued jobs, from CTEs `accepted (workspace_id, lane_id, jobs, schedules)` and `moved (…, state)`. All count as live at first. The few
 * that do not wait are moved by rows of their own. So nothing is looked up per job.
 */
export const COUNT_ENQUEUED = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, enqueued, delayed, pending_approval)
  select workspace_id, lane_id, moment(), jobs + schedules, jobs + schedules, 0, 0 from accepted where jobs + schedules > 0
  union all
  select workspace_id, lane_id, moment(), -count(*), 0, count(*) filter (where state = 'delayed'), count(*) filter (where state = 'pending_approval')
  from moved where state in ('delayed', 'pending_approval') group by workspace_id, lane_id`;

/**
 * The same where no job is delayed. Then either all jobs of a lane wait for approval, if the lane `holds` them (a column of `accepted`), or
 * none does.
 */
export const COUNT_ENQUEUED_BY_LANE = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, enqueued, pending_approval)
  select workspace_id, lane_id, moment(), case when holds then 0 else jobs + schedules end, jobs + schedules,
    case when holds then jobs + schedules else 0 end
  from accepted where jobs + schedules > 0`;

/** Jobs of CTE `moved` that are new in their `state` and were not enqueued by callers: internal jobs, and jobs that return from history. */
export const COUNT_ADDED = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, delayed, pending_approval)
  select workspace_id, lane_id, moment(), count(*) filter (where state in ('waiting', 'active')), count(*) filter (where state = 'delayed'),
    count(*) filter (where state = 'pending_approval')
  from moved group by workspace_id, lane_id`;

/** The same of one job. */
export const COUNT_ADDED_ALONE = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, delayed, pending_approval)
  select workspace_id, lane_id, moment(), (state in ('waiting', 'active'))::int, (state = 'delayed')::int, (state = 'pending_approval')::int
  from moved`;

/** Attempts that did not complete, from CTE `moved (…, state, spared, recorded)`: the jobs were active and are in `state` now. */
export const COUNT_NOT_COMPLETED = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, delayed, dead, failed, retried)
  select workspace_id, lane_id, moment(), -count(*) filter (where state <> 'waiting'), count(*) filter (where state = 'delayed'),
    count(*) filter (where state = 'failed'), count(*) filter (where state = 'failed'),
    count(*) filter (where state <> 'failed' and recorded and not spared)
  from moved group by workspace_id, lane_id`;

/** Jobs of CTE `moved` that were active and are in `state` now, `waiting` or `failed`. */
export const COUNT_TAKEN_BACK = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, dead, failed)
  select workspace_id, lane_id, moment(), -count(*), count(*), count(*) from moved where state = 'failed' group by workspace_id, lane_id`;

/**
 * Part of the select list that ends a move: counts the dead letters of CTE `moved (…, fingerprint, last_error)` by group. Jobs with the
 * same fingerprint are a group.
 */
export const COUNT_DEAD_LETTERS = fragment`(
  select count_dead_letters(array_agg(workspace_id), array_agg(lane_id), array_agg(fingerprint), array_agg(jobs), array_agg(error))
  from (
    select workspace_id, lane_id, fingerprint, count(*) as jobs, (array_agg(last_error))[1] as error
    from moved where state = 'failed' and fingerprint is not null group by workspace_id, lane_id, fingerprint) failed)`;

/** Jobs of CTE `moved` that were active and were deleted without a record. */
export const COUNT_DISCARDED = fragment`
  insert into job_delta (workspace_id, lane_id, at, live) select workspace_id, lane_id, moment(), -count(*) from gone group by workspace_id, lane_id`;

/** The same of one job. */
export const COUNT_DISCARDED_ALONE = fragment`
  insert into job_delta (workspace_id, lane_id, at, live) select workspace_id, lane_id, moment(), -1 from gone`;

/** Jobs of CTE `moved` that were delayed and wait now. */
export const COUNT_DUE = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, delayed)
  select workspace_id, lane_id, moment(), count(*), -count(*) from moved group by workspace_id, lane_id`;

/** Jobs of CTE `moved` that were waiting or delayed (`was`) and are in the other `state` now. */
export const COUNT_RESCHEDULED = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, delayed)
  select workspace_id, lane_id, moment(), sum(case when state = 'waiting' then 1 else -1 end), sum(case when state = 'waiting' then -1 else 1 end)
  from moved where state <> was group by workspace_id, lane_id`;

/** Jobs of CTE `moved` that were dead letters and wait now. */
export const COUNT_REVIVED = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, dead)
  select workspace_id, lane_id, moment(), count(*), -count(*) from moved group by workspace_id, lane_id`;

/** Jobs of CTE `moved` that were dead letters and were deleted. */
export const COUNT_PURGED = fragment`
  insert into job_delta (workspace_id, lane_id, at, dead)
  select workspace_id, lane_id, moment(), -count(*) from moved group by workspace_id, lane_id`;

/** Jobs of CTE `moved` that were pending and are in `state` now. */
export const COUNT_APPROVED = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, delayed, pending_approval)
  select workspace_id, lane_id, moment(), count(*) filter (where state = 'waiting'), count(*) filter (where state = 'delayed'), -count(*)
  from moved where state <> 'pending_approval' group by workspace_id, lane_id`;

/** Jobs of CTE `gone` that were in `state` and have finished in `final_state`, cancelled or rejected. Null: they leave no record. */
export const COUNT_GONE = fragment`
  insert into job_delta (workspace_id, lane_id, at, live, delayed, pending_approval, dead, cancelled, rejected)
  select workspace_id, lane_id, moment(), -count(*) filter (where state in ('waiting', 'active')), -count(*) filter (where state = 'delayed'),
    -count(*) filter (where state = 'pending_approval'), -count(*) filter (where state = 'failed'),
    count(*) filter (where final_state = 'cancelled'), count(*) filter (where final_state = 'rejected')
  from gone group by workspace_id, lane_id`;

/** Subtracts the jobs of CTE `taken`, rows of history, from the counts of the time when they finished. */
export const UNCOUNT_TAKEN = fragment`
  insert into job_delta (workspace_id, lane_id, at, completed, cancelled, rejected)
  select workspace_id, lane_id, finished_at, -(state = 'completed')::int, -(state = 'cancelled')::int, -(state = 'rejected')::int from taken`;
