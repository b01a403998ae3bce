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

-- What each limited workspace sent lately, in half seconds. Unlogged: a request waits for no disk, and after a crash of PostgreSQL
-- the count begins anew. Rows change all the time, but nothing in them that an index holds: room on the page keeps them there.
create unlogged table request_rate (
  workspace_id uuid primary key references workspace on delete cascade,
  -- The latest half second in which requests were let through, counted from 1970.
  slot         bigint not null,
  -- Requests let through in each of the last 122 half seconds, `slot` being the last.
  hits         integer[] not null check (cardinality(hits) = 122)
) with (fillfactor = 50);

-- What counts in a half second. Of two nodes the later one may come first, and a clock may be set back: time goes on from where it
-- was. A row that is more than its span ahead was written by a clock that was wrong, and is passed over.
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

-- Lets requests of workspaces through, as many of those wanted as each one's limit leaves room for; none wanted is a look alone.
-- Times are milliseconds since 1970: when more will be left than now, and when all will be, if nothing is sent.
--
-- A request counts in its own half second and the 121 that follow. That is 60 seconds wherever in the first it came, and half a
-- second more for the time that it and a later one are on the way.
create function take_requests(workspaces uuid[], limits integer[], wanted integer[])
returns table (workspace uuid, granted integer, remaining integer, more_at bigint, all_at bigint) language plpgsql as $$
declare
  present constant bigint := floor(extract(epoch from moment()) * 2);
  asked record;
  rate request_rate;
  now record;
begin
  -- All nodes lock rows in this order, so that none waits for one that waits for it.
  for asked in select a.id, a.most, a.wanted from unnest(workspaces, limits, wanted) as a (id, most, wanted) order by a.id loop
    workspace := asked.id;
    granted := 0;
    select * into rate from request_rate r where r.workspace_id = asked.id;
    now := counted_requests(rate, present);
    -- This look took no lock. Others can only have added to what it saw, so that a refusal by it holds, and writes nothing.
    if asked.wanted > 0 and now.used < asked.most then
      if rate is null then
        -- A workspace that is being deleted gets no row.
        insert into request_rate (workspace_id, slot, hits)
        select w.id, now.slot, now.hits from workspace w where w.id = asked.id for key share
        on conflict do nothing;
      end if;
      select * into rate from request_rate r where r.workspace_id = asked.id for update;
      now := counted_requests(rate, present);
      granted := greatest(0, least(asked.wanted, asked.most - now.used));
      if granted > 0 then
        now.used := now.used + granted;
        now.hits[122] := now.hits[122] + granted;
        update request_rate r set slot = now.slot, hits = now.hits where r.workspace_id = asked.id;
      end if;
    end if;
    remaining := greatest(0, asked.most - now.used);
    select 500 * (now.slot + coalesce(min(at) filter (where freed > greatest(0, now.used - asked.most)), 122)),
      500 * (now.slot + coalesce(max(at) filter (where n > 0), 0))
    into more_at, all_at
    from (select n, at, sum(n) over (order by at) as freed from unnest(now.hits) with ordinality as h (n, at)) as later;
    return next;
  end loop;
end $$;
