-- The time of the database. Tests replace the body to freeze time. The planner inlines it, so it costs nothing.
create function moment() returns timestamptz language sql stable parallel safe as 'select now()';

create table workspace (
  id                   uuid primary key,
  name                 text not null,
  plan                 text not null,
  executions_per_month bigint,
  requests_per_minute  integer,
  retention_days       integer,
  -- Hides the numbers of rows, which count those of all workspaces, in the cursors of its lists.
  cursor_key           bytea not null default uuid_send(gen_random_uuid()) check (length(cursor_key) = 16),
  -- When its limits last changed. Jobs accepted under the old limits may not be counted yet.
  limits_changed_at    timestamptz not null default moment(),
  created_at           timestamptz not null default moment(),
  updated_at           timestamptz not null default moment(),
  -- A deleted workspace disappears for callers at once. The sweep removes its data, then this row.
  deleted_at           timestamptz
);
create index workspace_deleted on workspace (id) where deleted_at is not null;

create table api_key (
  id           uuid primary key,
  workspace_id uuid not null references workspace on delete cascade,
  name         text not null,
  role         text not null check (role in ('admin', 'write', 'read', 'worker')),
  -- The queues that a worker's key may serve, by name. Null: all.
  queues       text[] check (queues is null or role = 'worker'),
  hash         bytea not null unique check (length(hash) = 32),
  expires_at   timestamptz,
  revoked_at   timestamptz,
  last_used_at timestamptz,
  created_at   timestamptz not null default moment()
);
create index api_key_workspace on api_key (workspace_id, id);
