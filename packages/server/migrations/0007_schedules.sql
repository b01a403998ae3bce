-- What makes jobs by the clock.
create table schedule (
  workspace_id     uuid not null,
  id               bigint generated always as identity,
  name             text not null,
  lane_id          bigint not null,
  cron             text not null,
  timezone         text not null,
  payload          text not null,
  tag              text,
  priority         smallint not null default 0,
  concurrency_key  text,
  -- Null: the queue's own at the tick.
  attempts         integer,
  overlap          text not null check (overlap in ('allow', 'skip')),
  catch_up         text not null check (catch_up in ('none', 'last', 'all')),
  paused           boolean not null default false,
  -- The first tick that has not been taken. Null: it is paused, or there is none any more.
  next_run_at      timestamptz,
  -- The last tick that was taken, whether it made a job or not.
  last_tick_at     timestamptz,
  -- Of the newest job it made.
  last_run_at      timestamptz,
  last_job_id      uuid,
  -- The newest tick that made none.
  last_skip_at     timestamptz,
  last_skip_reason text check (last_skip_reason in ('overlap', 'quota', 'catch_up', 'unreadable')),
  -- Due ticks up to this one run, however late they are: they were chosen already, and are fired a few at a time.
  catch_up_to      timestamptz,
  -- Ticks refused by the quota since the last audit event about such ticks, the first of them, and when that event was recorded.
  unreported_skips     integer not null default 0,
  unreported_since     timestamptz,
  reported_at          timestamptz,
  created_at       timestamptz not null default moment(),
  updated_at       timestamptz not null default moment(),
  primary key (workspace_id, id),
  foreign key (workspace_id, lane_id) references lane on delete cascade,
  check (not paused or next_run_at is null),
  -- Ticks are taken in order, each once (I7).
  check (next_run_at > last_tick_at),
  check ((last_skip_at is null) = (last_skip_reason is null))
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create unique index schedule_name on schedule (workspace_id, name);
create index schedule_lane on schedule (workspace_id, lane_id, id);
-- When the next tick of any schedule is due, and which workspaces have some.
-- Led by a column that is the same in all, so that nobody looks through it for one workspace's.
create index schedule_due on schedule (paused, next_run_at) where next_run_at is not null;
-- A workspace's share of a pass.
create index schedule_share on schedule (workspace_id, next_run_at) where next_run_at is not null;

-- Ticks taken in the last minute or more: the key makes each one job at most, whoever fires it (I7). Older ones, which the order of
-- ticks keeps from coming again, are deleted when their schedule fires.
create table schedule_tick (
  workspace_id uuid not null,
  schedule_id  bigint not null,
  tick_at      timestamptz not null,
  primary key (workspace_id, schedule_id, tick_at),
  foreign key (workspace_id, schedule_id) references schedule on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
