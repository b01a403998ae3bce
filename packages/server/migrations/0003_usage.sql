-- Accepted executions and ended attempts. Each statement that accepts or settles jobs appends one row per lane, so that statements never
-- wait for each other's rows. Seconds later the rows are folded into usage_day. The view usage combines both.
create table usage_delta (
  workspace_id uuid not null,
  lane_id      bigint not null,
  at           timestamptz not null,
  -- Executions, by what started them.
  jobs         integer not null default 0,
  schedules    integer not null default 0,
  workflows    integer not null default 0,
  -- Attempts that ended, by their outcome.
  succeeded    integer not null default 0,
  failed       integer not null default 0
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index usage_delta_workspace on usage_delta (workspace_id);

-- Usage of each day and lane: the sums of folded rows of usage_delta.
create table usage_day (
  workspace_id uuid not null,
  day          date not null,
  lane_id      bigint not null,
  -- The name of the queue, kept after the queue is deleted.
  queue        text,
  jobs         bigint not null,
  schedules    bigint not null,
  workflows    bigint not null,
  succeeded    bigint not null,
  failed       bigint not null,
  primary key (workspace_id, day, lane_id)
);

-- The executions that a workspace with a limit has used in a month. Taking executions locks the row (I9). A workspace without a limit
-- has no row.
create table quota_month (
  workspace_id uuid not null references workspace on delete cascade,
  month        date not null,
  used         bigint not null default 0,
  -- When `used` was last counted from the usage. Otherwise it is only added to.
  counted_at   timestamptz,
  primary key (workspace_id, month)
) with (fillfactor = 50);

-- All usage by day: folded rows and those that are not folded yet.
create view usage as
  select workspace_id, lane_id, day, queue, jobs, schedules, workflows, succeeded, failed from usage_day
  union all
  select workspace_id, lane_id, at::date, null, jobs, schedules, workflows, succeeded, failed from usage_delta;

-- The recent requests of each workspace with a rate limit, by half seconds. Unlogged, so that requests never wait for a disk; after a
-- crash of PostgreSQL the count starts again from zero. Updates change no indexed column, and free space on the page lets them stay
-- there (HOT).
create unlogged table request_rate (
  workspace_id uuid primary key references workspace on delete cascade,
  -- The latest half second in which requests were granted, counted from 1970.
  slot         bigint not null,
  -- Requests granted in each of 122 half seconds. The last element is for `slot`.
  hits         integer[] not null check (cardinality(hits) = 122)
) with (fillfactor = 50);

-- The requests that count in the half second `present`. A row may be slightly ahead, because another statement was faster or the clock
-- was set back: then the row's own slot counts. A row that is ahead by more than 122 slots comes from a wrong clock, and is ignored.
create function counted_requests(rate request_rate, present bigint, out slot bigint, out hits integer[], out used bigint)
language plpgsql immutable as $$
declare
  none constant integer[] := array_fill(0, array[122]);
begin
  slot := case when rate.slot between present and present + 122 then rate.slot else present end;
  hits := case
    when rate.slot between slot - 121 and slot then rate.hits[slot - rate.slot + 1 : 122] || none[1 : slot - rate.slot]
    else none
  end;
  used := (select sum(n) from unnest(hits) as n);
end $$;

-- Grants requests of workspaces: for each, as many of those wanted as its limit allows. With 0 wanted it only reads. The times are
-- milliseconds since 1970: `more_at` is when more requests will be left than now, `all_at` when the whole limit is left, if no more
-- requests are sent.
--
-- A request counts in its own half second and in the next 121. That is at least 60 seconds, wherever in the first half second it came,
-- and half a second more for differences in how long two requests take to arrive.
create function take_requests(workspaces uuid[], limits integer[], wanted integer[])
returns table (workspace uuid, granted integer, remaining integer, more_at bigint, all_at bigint) language plpgsql as $$
declare
  present constant bigint := floor(extract(epoch from moment()) * 2);
  demand record;
  rate request_rate;
  now record;
begin
  -- All nodes lock rows in this order, so that they cannot deadlock.
  for demand in select d.id, d.allowed, d.wanted from unnest(workspaces, limits, wanted) as d (id, allowed, wanted) order by d.id loop
    workspace := demand.id;
    granted := 0;
    select * into rate from request_rate r where r.workspace_id = demand.id;
    now := counted_requests(rate, present);
    -- This read took no lock. Others can only have added requests since, so a refusal is final and needs no write.
    if demand.wanted > 0 and now.used < demand.allowed then
      if rate is null then
        -- No row for a workspace that was deleted in the meantime.
        insert into request_rate (workspace_id, slot, hits)
        select w.id, now.slot, now.hits from workspace w where w.id = demand.id for key share
        on conflict do nothing;
      end if;
      select * into rate from request_rate r where r.workspace_id = demand.id for update;
      now := counted_requests(rate, present);
      granted := greatest(0, least(demand.wanted, demand.allowed - now.used));
      if granted > 0 then
        now.used := now.used + granted;
        now.hits[122] := now.hits[122] + granted;
        update request_rate r set slot = now.slot, hits = now.hits where r.workspace_id = demand.id;
      end if;
    end if;
    remaining := greatest(0, demand.allowed - now.used);
    select 500 * (now.slot + coalesce(min(at) filter (where freed > greatest(0, now.used - demand.allowed)), 122)),
      500 * (now.slot + coalesce(max(at) filter (where n > 0), 0))
    into more_at, all_at
    from (select n, at, sum(n) over (order by at) as freed from unnest(now.hits) with ordinality as h (n, at)) as later;
    return next;
  end loop;
end $$;
