-- Ticks that created no job, the newest of each schedule: one row for those that came one after the other and had the same reason.
create table schedule_skip (
  workspace_id uuid not null,
  schedule_id  bigint not null,
  -- The first and the last of these ticks.
  first_at     timestamptz not null,
  last_at      timestamptz not null,
  reason       text not null check (reason in ('overlap', 'quota', 'catch_up', 'unreadable')),
  primary key (workspace_id, schedule_id, first_at),
  foreign key (workspace_id, schedule_id) references schedule on delete cascade,
  check (first_at <= last_at)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

insert into schedule_skip (workspace_id, schedule_id, first_at, last_at, reason)
select workspace_id, id, last_skip_at, last_skip_at, last_skip_reason from schedule where last_skip_at is not null;

select make_tenant_views();
