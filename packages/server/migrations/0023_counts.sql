-- Counts are kept, not counted: five million waiting jobs take a second to count.

-- Changes in the number of jobs of a lane. Each statement that inserts, moves or deletes jobs appends one row per lane, so that statements
-- never wait for each other's rows. Seconds later the rows are folded into job_count, tally and job_metric.
create table job_delta (
  workspace_id     uuid not null,
  lane_id          bigint not null,
  at               timestamptz not null,
  -- Changes in the number of jobs that wait or are active. A claim moves a job from one to the other, and so records nothing.
  live             integer not null default 0,
  -- Changes in the number of jobs in other states. `dead` is the state `failed`.
  delayed          integer not null default 0,
  pending_approval integer not null default 0,
  dead             integer not null default 0,
  completed        integer not null default 0,
  cancelled        integer not null default 0,
  rejected         integer not null default 0,
  -- What happened: jobs that callers or schedules enqueued, that failed for good, and attempts that failed with another one to follow.
  enqueued         integer not null default 0,
  failed           integer not null default 0,
  retried          integer not null default 0,
  -- How long each completed job took, as numbers of buckets (latency_bucket).
  latencies        smallint[]
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index job_delta_workspace on job_delta (workspace_id);

-- The number of unfinished jobs and dead letters of each lane: the sums of folded rows of job_delta.
create table job_count (
  workspace_id     uuid not null,
  lane_id          bigint not null,
  live             bigint not null default 0,
  delayed          bigint not null default 0,
  pending_approval bigint not null default 0,
  dead             bigint not null default 0,
  primary key (workspace_id, lane_id),
  foreign key (workspace_id, lane_id) references lane on delete cascade
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- The number of jobs, with what is not folded yet. To be summed by lane.
create view job_count_now as
  select workspace_id, lane_id, live, delayed, pending_approval, dead from job_count
  union all
  select workspace_id, lane_id, live, delayed, pending_approval, dead from job_delta;

-- Finished jobs, with what is not folded yet.
create view tally_now as
  select workspace_id, lane_id, at, completed, failed, cancelled, rejected from tally
  union all
  select workspace_id, lane_id, at, completed, failed, cancelled, rejected from job_delta;

-- Counts the active jobs of a lane, or of all queues of a workspace if it is null. They are found by their leases: there are never many, and a
-- count would cost each claim a row. It always reads the tables: a tenant sees no lease of a node.
create function active_jobs(workspace uuid, of_lane bigint) returns bigint language plpgsql stable set search_path = tidemill as $$
begin
  if of_lane is not null then
    return (
      select count(*) from lease join job j on j.lease_id = lease.id and j.lane_id = of_lane and j.state = 'active'
      where j.workspace_id is not distinct from workspace and (lease.workspace_id is null or lease.workspace_id = workspace));
  end if;
  return (
    select count(*) from lease join job j on j.lease_id = lease.id and j.state = 'active'
    join lane l on l.workspace_id = any(array[workspace]) and l.id = j.lane_id and l.kind = 'queue' and l.deleted_at is null
    where j.workspace_id is not distinct from workspace and (lease.workspace_id is null or lease.workspace_id = workspace));
end $$;

-- What happened in the jobs of queues, by minutes and by hours.
create table job_metric (
  workspace_id   uuid not null references workspace on delete cascade,
  -- 0: all queues of the workspace together, those that were deleted too.
  lane_id        bigint not null,
  -- The length of the step in seconds.
  span           smallint not null check (span in (60, 3600)),
  at             timestamptz not null,
  enqueued       bigint not null default 0,
  completed      bigint not null default 0,
  failed         bigint not null default 0,
  retried        bigint not null default 0,
  -- How many completed jobs fell into each bucket of latency_bucket, from 0. Buckets behind the last are empty.
  latencies      integer[] not null default '{}',
  -- How long the longest waiting job had waited, at most, when it was looked up in this time. Null: no job waited.
  oldest_seconds real,
  primary key (workspace_id, lane_id, span, at)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index job_metric_age on job_metric (span, at);

-- The minute for which the oldest waiting jobs were looked up last. One node does it for all.
create table job_metric_sample (
  id boolean primary key default true check (id),
  at   timestamptz not null
);
insert into job_metric_sample (at) values ('-infinity');

-- The bucket of a latency: each is a quarter longer than the one before. Bucket 0 ends at 1 ms, bucket 95 begins at 15 days.
create function latency_bucket(ms float8) returns smallint language sql immutable parallel safe as
  $$ select least(95, greatest(0, ceil(ln(greatest(ms, 1)) / ln(1.25::float8))))::smallint $$;

-- The histogram of these buckets, which are in order, with so many jobs each.
create function histogram(buckets smallint[], jobs numeric[]) returns integer[] language sql immutable parallel safe as $$
  select array(
    select coalesce(h.jobs, 0)::integer from generate_series(0, buckets[cardinality(buckets)]) n
    left join unnest(buckets, jobs) h (bucket, jobs) on h.bucket = n order by n)
$$;

-- Adds two histograms, of which one may be shorter.
create function add_histograms(a integer[], b integer[]) returns integer[] language sql immutable parallel safe as $$
  select case when a = '{}' then b when b = '{}' then a else
    array(select coalesce(x, 0) + coalesce(y, 0) from unnest(a, b) with ordinality as h (x, y, bucket) order by bucket) end
$$;

-- The differences between the number of jobs and what is kept, in lanes of a workspace, or in all lanes if it is null. Both are read in one
-- snapshot.
create function count_drift(workspace uuid)
  returns table (workspace_id uuid, lane_id bigint, live bigint, delayed bigint, pending_approval bigint, dead bigint)
language sql stable set search_path = tidemill as $$
  select s.workspace_id, s.lane_id, sum(s.live)::bigint, sum(s.delayed)::bigint, sum(s.pending_approval)::bigint, sum(s.dead)::bigint
  from workspace w cross join lateral (
    select j.workspace_id, j.lane_id, count(*) filter (where state in ('waiting', 'active')) as live, count(*) filter (where state = 'delayed') as delayed,
      count(*) filter (where state = 'pending_approval') as pending_approval, count(*) filter (where state = 'failed') as dead
    from job j where j.workspace_id = w.id group by 1, 2
    union all
    select c.workspace_id, c.lane_id, -c.live, -c.delayed, -c.pending_approval, -c.dead
    from job_count_now c where c.workspace_id = w.id
  ) s
  join lane l on l.workspace_id = s.workspace_id and l.id = s.lane_id
  where workspace is null or w.id = workspace
  group by 1, 2
  having sum(s.live) <> 0 or sum(s.delayed) <> 0 or sum(s.pending_approval) <> 0 or sum(s.dead) <> 0
$$;

-- Corrects what is kept by these differences. Returns the number of lanes that were wrong. One at a time: two would correct twice.
create function recount_jobs(workspace uuid) returns bigint language plpgsql set search_path = tidemill as $$
declare
  lanes bigint;
begin
  perform pg_advisory_xact_lock(7305512014);
  insert into job_delta (workspace_id, lane_id, at, live, delayed, pending_approval, dead)
  select d.workspace_id, d.lane_id, moment(), d.live, d.delayed, d.pending_approval, d.dead from count_drift(workspace) d;
  get diagnostics lanes = row_count;
  return lanes;
end $$;

select recount_jobs(null);

-- Changes in the number of runs by status, and their sums. A trigger records them: runs change their status in few statements, one run
-- after the other.
create table run_delta (
  workspace_id uuid not null,
  lane_id      bigint not null,
  status       run_status not null,
  runs         integer not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index run_delta_workspace on run_delta (workspace_id);

create table run_count (
  workspace_id uuid not null,
  lane_id      bigint not null,
  status       run_status not null,
  runs         bigint not null,
  primary key (workspace_id, lane_id, status),
  foreign key (workspace_id, lane_id) references lane on delete cascade
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

create view run_count_now as
  select workspace_id, lane_id, status, runs from run_count
  union all
  select workspace_id, lane_id, status, runs from run_delta;

insert into run_count (workspace_id, lane_id, status, runs)
select r.workspace_id, r.lane_id, r.status, count(*) from run r join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id
group by 1, 2, 3;

create function record_run_status() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into tidemill.run_delta values (new.workspace_id, new.lane_id, new.status, 1);
  elsif tg_op = 'DELETE' then
    insert into tidemill.run_delta values (old.workspace_id, old.lane_id, old.status, -1);
  else
    insert into tidemill.run_delta values (old.workspace_id, old.lane_id, old.status, -1), (new.workspace_id, new.lane_id, new.status, 1);
  end if;
  return null;
end $$;
create trigger run_inserted after insert on run for each row execute function record_run_status();
create trigger run_deleted after delete on run for each row execute function record_run_status();
create trigger run_status_changed after update of status on run for each row when (old.status <> new.status) execute function record_run_status();

select make_tenant_views();
