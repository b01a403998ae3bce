-- What becomes of a job of an approval queue that nobody decides. Null where the queue has no such rule.
alter table queue
  add column approval_timeout integer check (approval_timeout >= 1),
  add column on_timeout text not null default 'reject' check (on_timeout in ('reject', 'approve')),
  add check (approval_timeout is null or type = 'approval');

-- When the job is decided by itself, and the decision: JSON.
alter table job add column decide_at timestamptz, add column approval text, add check (decide_at is null or state = 'pending_approval');
alter table job_history add column approval text;
-- Led by a column that is the same in all, so that nobody looks through it for one workspace's.
create index job_undecided on job (state, decide_at) where state = 'pending_approval' and decide_at is not null;
-- Whose they are, for workspaces take turns when many are due.
create index job_undecided_share on job (workspace_id, decide_at) where state = 'pending_approval' and decide_at is not null;
create index job_pending on job (workspace_id, id desc) where state = 'pending_approval';

-- A decision of this moment, as jobs carry it.
create function show_decision(decision text, by text, comment text) returns text language sql stable as $$
  select json_build_object('decision', decision, 'by', by, 'comment', comment,
    'decided_at', to_char(moment(), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
$$;

-- A view keeps the columns that it was made with.
create or replace view job_record as
  select workspace_id, lane_id, id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at,
    tag, concurrency_key, payload, null::text as result, last_error, attempts_log, schedule, scheduled_for, idempotency_key, approval
  from job
  union all
  select workspace_id, lane_id, id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at,
    tag, concurrency_key, payload, result, last_error, attempts_log, schedule, scheduled_for, idempotency_key, approval
  from job_history where expires_at > moment();

select make_tenant_views();
