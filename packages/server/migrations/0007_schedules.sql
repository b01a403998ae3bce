-- Schedules: each creates a job at every tick of its cron expression.
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
  -- Null: the queue's default at the time of the tick.
  attempts         integer,
  overlap          text not null check (overlap in ('allow', 'skip')),
  catch_up         text not null check (catch_up in ('none', 'last', 'all')),
  paused           boolean not null default false,
  -- The first tick that has not been taken. Null: the schedule is paused, or it has no further tick.
  next_run_at      timestamptz,
  -- The newest tick that was taken, whether it created a job or not.
  last_tick_at     timestamptz,
  -- The tick or the manual trigger that the newest job was created for.
  last_run_at      timestamptz,
  -- The newest job.
  last_job_id      uuid,
  -- The newest tick that created no job.
  last_skip_at     timestamptz,
  -- Why it created none.
  last_skip_reason text check (last_skip_reason in ('overlap', 'quota', 'catch_up', 'unreadable')),
  -- Due ticks up to this one run, however late they are: they are already chosen, and are fired a few at a time.
  catch_up_to      timestamptz,
  -- How many ticks the quota has refused that no audit event contains yet.
  unreported_skips     integer not null default 0,
  -- The first of these ticks.
  unreported_since     timestamptz,
  -- When the last audit event about refused ticks was recorded.
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
-- Finds the next tick of any schedule, and the workspaces with due ticks. The first column is false in all rows: it is there so that
-- the planner does not choose this index for the schedules of one workspace.
create index schedule_due on schedule (paused, next_run_at) where next_run_at is not null;
-- Finds the due schedules of one workspace.
create index schedule_share on schedule (workspace_id, next_run_at) where next_run_at is not null;

-- Ticks taken in about the last minute. The primary key lets each tick create at most one job, no matter which node fires it (I7).
-- Older rows are deleted when their schedule fires: ticks are taken in order, so that an old tick cannot come again.
create table schedule_tick (
  workspace_id uuid not null,
  schedule_id  bigint not null,
  tick_at      timestamptz not null,
  primary key (workspace_id, schedule_id, tick_at),
  foreign key (workspace_id, schedule_id) references schedule on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
