create type job_state as enum
  ('waiting', 'delayed', 'pending_approval', 'active', 'completed', 'failed', 'cancelled', 'rejected');

-- A running node and how long its claims hold. Every process is a new row: a lost lease never comes back to life.
create table node (
  id          bigint generated always as identity primary key,
  started_at  timestamptz not null default now(),
  lease_until timestamptz not null
);

-- Jobs that are not finished, and the dead-letter queue.
create table job (
  workspace_id     uuid not null,
  lane_id          bigint not null,
  id               uuid not null,
  state            job_state not null,
  priority         smallint not null,
  attempt          integer not null default 0,
  -- Attempts started that do not count against those allowed: before a retry by hand, or lost with their node.
  spared           integer not null default 0,
  attempts         integer not null,
  backoff_delay_ms integer not null,
  node_losses      smallint not null default 0,
  node_id          bigint,
  run_at           timestamptz not null,
  created_at       timestamptz not null,
  started_at       timestamptz,
  finished_at      timestamptz,
  tag              text,
  concurrency_key  text,
  payload          text not null,
  last_error       text,
  -- The code within last_error, for the dead-letter queue's filter.
  error_code       text,
  -- JSON objects with commas between them, one for each attempt that ended.
  attempts_log     text not null default '',
  primary key (workspace_id, lane_id, id),
  check (state in ('waiting', 'delayed', 'pending_approval', 'active', 'failed')),
  check ((state = 'active') = (node_id is not null)),
  check ((state = 'failed') = (finished_at is not null)),
  check (attempt - spared <= attempts and spared <= attempt)
) with (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.1
);

-- Holds nothing but what can be claimed, in the order in which it is.
create index job_claimable on job (workspace_id, lane_id, priority desc, run_at, id) where state = 'waiting';
create index job_due on job (run_at) where state = 'delayed';
create index job_active on job (node_id) where state = 'active';
create index job_failed on job (workspace_id, id desc) where state = 'failed';
-- What neither waits nor is under way, so that a few of them are found among a million that wait.
create index job_parked on job (workspace_id, lane_id, id desc) where state in ('delayed', 'pending_approval', 'failed');
create index job_tag on job (workspace_id, lane_id, tag, id) where tag is not null;

-- Finished jobs, partitioned by the month in which they expire: retention drops partitions and deletes nothing.
create table job_history (
  workspace_id     uuid not null,
  lane_id          bigint not null,
  id               uuid not null,
  state            job_state not null check (state in ('completed', 'cancelled', 'rejected')),
  priority         smallint not null,
  attempt          integer not null,
  spared           integer not null,
  attempts         integer not null,
  backoff_delay_ms integer not null,
  run_at           timestamptz not null,
  created_at       timestamptz not null,
  started_at       timestamptz,
  finished_at      timestamptz not null,
  tag              text,
  concurrency_key  text,
  payload          text not null,
  result           text,
  last_error       text,
  attempts_log     text not null,
  expires_at       timestamptz not null,
  primary key (workspace_id, lane_id, id, expires_at)
) partition by range (expires_at);
create index job_history_tag on job_history (workspace_id, lane_id, tag, id) where tag is not null;
-- Takes what expires beyond the months made ahead, or never.
create table job_history_later partition of job_history default;

-- What finished, when: one row appended per lane by each statement that finishes jobs, folded later.
create table tally (
  workspace_id uuid not null,
  lane_id      bigint not null,
  at           timestamptz not null,
  completed    integer not null default 0,
  failed       integer not null default 0,
  cancelled    integer not null default 0,
  rejected     integer not null default 0
);
create index tally_lane on tally (workspace_id, lane_id, at);
create index tally_at on tally (at);

-- Every job that a caller may see, live or in history.
create view job_record as
  select workspace_id, lane_id, id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at,
    tag, concurrency_key, payload, null::text as result, last_error, attempts_log
  from job
  union all
  select workspace_id, lane_id, id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at,
    tag, concurrency_key, payload, result, last_error, attempts_log
  from job_history where expires_at > moment();
