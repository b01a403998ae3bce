-- The jobs of queues over all queues, newest first: those that wait, and dead letters. Active jobs are found by their lease, so that a
-- claim does not add to this index. The workspace is an expression that no other statement uses, so that a planner without statistics does
-- not choose this index for the jobs of one state or queue.
create index job_newest on job ((coalesce(workspace_id, id)), id desc) where kind = 'queue' and state <> 'active';
create index job_history_newest on job_history ((coalesce(workspace_id, id)), id desc) where kind = 'queue';

-- Active jobs of queues. The `offset` keeps conditions outside: with one on the workspace, the planner could read all of its jobs in place
-- of index job_active.
create view active_job as
  select workspace_id, lane_id, id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag,
    concurrency_key, payload, last_error, schedule, scheduled_for, idempotency_key, approval, error_code
  from job where state = 'active' and kind = 'queue' offset 0;

-- Changes of many jobs at once, which a caller asked for. Nodes execute them in portions.
create table operation (
  workspace_id  uuid not null references workspace on delete cascade,
  id            uuid not null,
  action        text not null check (action in ('retry', 'cancel', 'remove')),
  state         text not null check (state in ('running', 'completed', 'cancelled')),
  -- Which jobs it is for, as the caller gave it: JSON. Null: jobs that were named by their ids.
  filter        text,
  -- How many ids the caller gave.
  ids           integer,
  actor_id      text not null,
  -- How many jobs matched at the request. If they were too many to count: how many were counted.
  matched       bigint not null,
  matched_exact boolean not null,
  -- Jobs that were changed, and jobs that no longer matched when it was their turn.
  done          bigint not null default 0,
  skipped       bigint not null default 0,
  -- The jobs that were picked and are not changed yet, with their lanes.
  portion       uuid[] not null,
  portion_lanes bigint[] not null,
  -- The next jobs have ids below this one. Null: all were picked.
  before_id     uuid,
  -- Operations take turns by it. Null: it has ended.
  turn_at       timestamptz,
  created_at    timestamptz not null,
  finished_at   timestamptz,
  primary key (workspace_id, id),
  check ((filter is null) <> (ids is null)),
  check ((state = 'running') = (turn_at is not null)),
  check ((state = 'running') = (finished_at is null)),
  check (cardinality(portion) = cardinality(portion_lanes))
);
create index operation_turn on operation (turn_at) where state = 'running';
create index operation_running on operation (workspace_id) where state = 'running';
create index operation_finished on operation (finished_at) where state <> 'running';

select make_tenant_views();
