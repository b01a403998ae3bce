create type run_status as enum ('pending', 'running', 'sleeping', 'waiting', 'completed', 'failed', 'cancelled');
create type step_status as enum ('completed', 'failed', 'waiting');

-- Settings of workflows that are not settings of their lane.
create table workflow (
  workspace_id uuid not null,
  id           bigint not null,
  -- Version of the code that is current.
  version      text,
  created_at   timestamptz not null default moment(),
  updated_at   timestamptz not null default moment(),
  primary key (workspace_id, id),
  foreign key (workspace_id, id) references lane on delete cascade
);

-- Workflows that are not deleted, with the settings of their lane.
create view workflow_record as
  select w.workspace_id, w.id, l.name, w.version, l.attempts, l.backoff_delay_ms, l.concurrency, l.revision, w.created_at, w.updated_at
  from workflow w join lane l on l.workspace_id = w.workspace_id and l.id = w.id
  where l.deleted_at is null;

-- Runs of workflows. A run that has not ended has one row in `job`, with its id: its next execution. There is no foreign key to the
-- lane, whose row every trigger would then have to lock.
create table run (
  workspace_id    uuid not null,
  lane_id         bigint not null,
  id              uuid not null,
  status          run_status not null default 'pending',
  -- Version of the code that executed it first.
  version         text,
  -- How many executions have failed, without one that it failed with for good.
  failures        integer not null default 0,
  attempts        integer not null,
  input           text not null,
  result          text,
  -- The error that it failed with, or that its last execution failed with; JSON.
  error           text,
  trigger         text not null,
  idempotency_key text,
  -- Steps in its journal, with those that wait.
  steps           integer not null default 0,
  next_attempt_at timestamptz,
  created_at      timestamptz not null,
  started_at      timestamptz,
  ended_at        timestamptz,
  expires_at      timestamptz,
  primary key (workspace_id, id),
  check ((status in ('completed', 'failed', 'cancelled')) = (ended_at is not null)),
  check ((ended_at is null) = (expires_at is null)),
  check (status = 'completed' or result is null)
);
create index run_lane on run (workspace_id, lane_id, id desc);
create index run_status on run (workspace_id, status, id desc);
-- Runs that ended, by the moment when their retention ends.
create index run_expiry on run (expires_at) where expires_at is not null;

-- The journals of runs. `seq` is the order in which steps had their outcomes.
create table run_step (
  workspace_id uuid not null,
  run_id       uuid not null,
  key          text not null,
  seq          integer not null,
  type         text not null check (type in ('run', 'value', 'sleep')),
  status       step_status not null,
  output       text,
  error        text,
  attempt      integer not null,
  started_at   timestamptz not null,
  ended_at     timestamptz,
  wake_at      timestamptz,
  primary key (workspace_id, run_id, key),
  check ((status = 'waiting') = (ended_at is null)),
  foreign key (workspace_id, run_id) references run on delete cascade
);

-- Names of triggers, so that a trigger that is sent again starts no second run. A key lasts as long as its run.
create table run_key (
  workspace_id uuid not null,
  lane_id      bigint not null,
  key          text not null,
  run_id       uuid not null,
  primary key (workspace_id, lane_id, key),
  -- The key is taken before the run is inserted.
  foreign key (workspace_id, run_id) references run on delete cascade deferrable initially deferred
);
create index run_key_run on run_key (workspace_id, run_id);

select make_tenant_views();
