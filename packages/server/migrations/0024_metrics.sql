-- When the longest waiting job of a lane became due. One index lookup per priority, and one among the jobs that wait for their key. Uses
-- indexes job_claimable and job_blocked.
create function oldest_due(workspace uuid, of_lane bigint) returns timestamptz language sql stable set search_path = tidemill as $$
  with recursive head as (
    (select priority, greatest(run_at, created_at) as due from job
      where workspace_id = workspace and lane_id = of_lane and state = 'waiting' and (concurrency_key is null or key_slot is not null)
      order by priority desc, run_at, id limit 1)
    union all
    select next.priority, next.due from head cross join lateral (
      select priority, greatest(run_at, created_at) as due from job
      where workspace_id = workspace and lane_id = of_lane and state = 'waiting' and (concurrency_key is null or key_slot is not null)
        and priority < head.priority
      order by priority desc, run_at, id limit 1) next
  )
  select least((select min(due) from head), (
    select greatest(run_at, created_at) from job
    where workspace_id = workspace and lane_id = of_lane and state = 'waiting' and concurrency_key is not null and key_slot is null
    order by run_at limit 1))
$$;

-- The histogram of buckets in any order.
create function histogram_of(latencies smallint[]) returns integer[] language sql immutable parallel safe as $$
  select histogram(array_agg(bucket order by bucket), array_agg(jobs order by bucket))
  from (select bucket, count(*)::numeric as jobs from unnest(latencies) bucket group by bucket) counted
$$;

-- What happened in queues, with what is not folded yet. To be summed by lane and step. What is not folded has a span of 0, and its own time.
create view job_metric_now as
  select workspace_id, lane_id, span, at, enqueued, completed, failed, retried, latencies, oldest_seconds from job_metric
  union all
  select workspace_id, lane_id, 0::smallint, at, enqueued, greatest(completed, 0), failed, retried, histogram_of(latencies), null from job_delta;

-- Deploys that were told, to be marked on charts.
create table deploy (
  workspace_id uuid not null references workspace on delete cascade,
  id           uuid not null,
  name         text not null,
  version      text not null,
  actor_id     text not null,
  created_at   timestamptz not null,
  primary key (workspace_id, id)
);

-- When circuits opened and closed, to be marked on charts.
create table circuit_change (
  workspace_id uuid not null,
  lane_id      bigint not null,
  at           timestamptz not null,
  opened       boolean not null,
  foreign key (workspace_id, lane_id) references lane on delete cascade
);
create index circuit_change_time on circuit_change (workspace_id, at);
create index circuit_change_lane on circuit_change (workspace_id, lane_id);
insert into circuit_change (workspace_id, lane_id, at, opened) select workspace_id, lane_id, opened_at, true from circuit;

select make_tenant_views();
