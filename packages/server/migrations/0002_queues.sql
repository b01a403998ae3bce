-- A lane is what jobs wait in: a queue now, a workflow too one day. Their ids come from one sequence.
create sequence lane_id as bigint;

create table queue (
  workspace_id     uuid not null references workspace on delete cascade,
  id               bigint not null default nextval('lane_id'),
  name             text not null,
  type             text not null default 'standard' check (type in ('standard', 'approval')),
  callback_url     text,
  callback_headers text not null default '{}',
  callback_timeout integer not null default 30,
  callback_secret  text,
  attempts         integer not null default 3,
  backoff_delay_ms integer not null default 1000,
  paused           boolean not null default false,
  -- Grows with every change, so that a node sees at claim time that what it remembers of the queue is old.
  revision         integer not null default 1,
  created_at       timestamptz not null default moment(),
  updated_at       timestamptz not null default moment(),
  -- A deleted queue is gone for callers at once; its jobs are swept after it, then the row.
  deleted_at       timestamptz,
  primary key (workspace_id, id),
  check (callback_url is null or callback_secret is not null)
);
create unique index queue_name on queue (workspace_id, name) where deleted_at is null;
create index queue_deleted on queue (id) where deleted_at is not null;
