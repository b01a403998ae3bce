-- What was accepted and what was attempted, when: one row appended per lane by each statement that accepts or settles jobs, so that
-- no two of them wait for a row. Folded into usage_day seconds later; usage is the sum of both.
create table usage_delta (
  workspace_id uuid not null,
  lane_id      bigint not null,
  at           timestamptz not null,
  -- Executions, by what they came from.
  jobs         integer not null default 0,
  schedules    integer not null default 0,
  workflows    integer not null default 0,
  -- Attempts that ended, by how.
  succeeded    integer not null default 0,
  failed       integer not null default 0
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index usage_delta_workspace on usage_delta (workspace_id);

create table usage_day (
  workspace_id uuid not null,
  day          date not null,
  lane_id      bigint not null,
  -- The queue's name, which outlives the queue here.
  queue        text,
  jobs         bigint not null,
  schedules    bigint not null,
  workflows    bigint not null,
  succeeded    bigint not null,
  failed       bigint not null,
  primary key (workspace_id, day, lane_id)
);

-- The executions that a limited workspace has used of a month. Whoever takes some locks the row (I9); an unlimited workspace has none.
create table quota_month (
  workspace_id uuid not null references workspace on delete cascade,
  month        date not null,
  used         bigint not null default 0,
  -- When `used` was last counted from the usage instead of added to.
  counted_at   timestamptz,
  primary key (workspace_id, month)
) with (fillfactor = 50);

create view usage as
  select workspace_id, lane_id, day, queue, jobs, schedules, workflows, succeeded, failed from usage_day
  union all
  select workspace_id, lane_id, at::date, null, jobs, schedules, workflows, succeeded, failed from usage_delta;

select make_tenant_views();
