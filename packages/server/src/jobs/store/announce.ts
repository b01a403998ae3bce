import { fragment } from "#kernel";

/*
 * Parts of statements that store events of jobs for webhooks. `exists (select from webhook_topic)` is evaluated once per statement: while
 * no workspace has a webhook, that is all that an event costs.
 */

/** Columns of a job, for function job_event. Those that a statement changes are given by it. */
const LIFELONG = fragment`tag, priority, concurrency_key, idempotency_key, attempt, attempts + spared, run_at, created_at, started_at`;

const completedIsWanted = fragment`exists (select from webhook_topic) and exists (
  select from webhook_topic t where t.workspace_id = any(array[gone.workspace_id]) and t.type = 'job.completed')`;

/** Part of the select list that ends a move: stores events of the jobs of CTE `gone`, which have completed. */
export const ANNOUNCE_COMPLETED = fragment`(
  select count(announce(workspace_id, 'job.completed', job_event(workspace_id, lane_id, id, final_state, ${LIFELONG}, moment(), result, schedule,
    scheduled_for, final_approval, last_error)))
  from gone where ${completedIsWanted})`;

/** Part of the returning list of an update of `job` as `j`: the event of a queue's job that has failed for good. Null for all others. */
export const EVENT_IF_FAILED = fragment`
  case when exists (select from webhook_topic) and j.state = 'failed' and j.kind = 'queue' then
    job_event(j.workspace_id, j.lane_id, j.id, j.state, j.tag, j.priority, j.concurrency_key, j.idempotency_key, j.attempt, j.attempts + j.spared,
      j.run_at, j.created_at, j.started_at, j.finished_at, null, j.schedule, j.scheduled_for, j.approval, j.last_error) end as event`;

/** Part of the select list that ends a move: stores the events of CTE `moved`, made by `EVENT_IF_FAILED`. */
export const ANNOUNCE_FAILED = fragment`(
  select count(announce(workspace_id, 'job.failed', event)) from moved
  where exists (select from webhook_topic) and event is not null and exists (
    select from webhook_topic t where t.workspace_id = any(array[moved.workspace_id]) and t.type = 'job.failed'))`;

/** Part of the select list that ends a move: stores events of the jobs of CTE `moved`, which have been approved. */
export const ANNOUNCE_APPROVED = fragment`(
  select count(announce(workspace_id, 'approval.decided', job_event(workspace_id, lane_id, id, state, ${LIFELONG}, null, null, schedule,
    scheduled_for, approval, last_error)))
  from moved where approval is not null and exists (select from webhook_topic) and has_topic(workspace_id, 'approval.decided'))`;

/** The same for the jobs of CTE `gone`, which have been rejected. */
export const ANNOUNCE_REJECTED = fragment`(
  select count(announce(workspace_id, 'approval.decided', job_event(workspace_id, lane_id, id, final_state, ${LIFELONG}, moment(), null, schedule,
    scheduled_for, final_approval, last_error)))
  from gone where exists (select from webhook_topic) and has_topic(workspace_id, 'approval.decided'))`;
