-- Limits of a queue on the starts of its jobs.
alter table queue
  -- Jobs in flight at once over all nodes; null: as many as there are.
  add column concurrency integer check (concurrency >= 1),
  add column concurrency_per_key integer not null default 1 check (concurrency_per_key >= 1),
  -- Starts in any that many seconds.
  add column rate_max integer check (rate_max >= 1),
  add column rate_seconds integer check (rate_seconds >= 1),
  -- The keys of its jobs are to be arranged anew, for concurrency_per_key was changed: those behind this one. Null: none.
  add column arrange_behind text,
  add check ((rate_max is null) = (rate_seconds is null));
create index queue_to_arrange on queue (id) where arrange_behind is not null;

-- A job with a key that may be claimed, or is active, has one of its key's slots, 1 and up, each of which one job can have (I6). A
-- job of a key that waits without one is blocked: it is no claim's business. Slots are not counted: whatever ends a job, or the
-- hold that somebody has on it, leaves no slot behind.
alter table job add column key_slot integer check (key_slot >= 1);
update job set key_slot = numbered.slot
from (
  select workspace_id, lane_id, id, row_number() over (partition by workspace_id, lane_id, concurrency_key order by id) as slot
  from job where state = 'active' and concurrency_key is not null
) numbered
where job.workspace_id = numbered.workspace_id and job.lane_id = numbered.lane_id and job.id = numbered.id;
update queue q set arrange_behind = ''
where exists (select from job j where j.workspace_id = q.workspace_id and j.lane_id = q.id and j.state = 'waiting' and j.concurrency_key is not null);
alter table job
  add check (key_slot is null or concurrency_key is not null and state in ('waiting', 'active')),
  add check (state <> 'active' or concurrency_key is null or key_slot is not null);
-- A key with its queue, in one value that no other index begins with: what looks for a key's jobs must never walk its queue's,
-- which to a planner that knows nothing of a table yet is just as good.
create function lane_key(lane_id bigint, key text) returns text language sql immutable parallel safe as $$ select lane_id::text || '/' || key $$;
create unique index job_key_slot on job ((lane_key(lane_id, concurrency_key) collate "C"), key_slot, workspace_id) where key_slot is not null;
-- The jobs of a key that wait, with or without a slot, in the order in which they get one.
create index job_key on job ((lane_key(lane_id, concurrency_key) collate "C"), priority desc, run_at, id)
  where state = 'waiting' and concurrency_key is not null;

drop index job_claimable;
create index job_claimable on job (workspace_id, lane_id, priority desc, run_at, id)
  where state = 'waiting' and (concurrency_key is null or key_slot is not null);
-- The blocked ones of a queue, by their age.
create index job_blocked on job (workspace_id, lane_id, run_at)
  where state = 'waiting' and concurrency_key is not null and key_slot is null;
-- What a node holds, and of it what a queue has in flight: an index of its own for that cost each claim 6 µs a job.
drop index job_active;
create index job_active on job (node_id, lane_id) where state = 'active';

-- The latest starts of each queue that limits their rate, by fiftieths of its span: how many, and the last of them.
create table lane_starts (
  workspace_id uuid not null,
  lane_id      bigint not null,
  at           timestamptz[] not null,
  jobs         integer[] not null,
  primary key (workspace_id, lane_id),
  foreign key (workspace_id, lane_id) references queue on delete cascade,
  check (cardinality(at) = cardinality(jobs))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Adds jobs that start at `present` to those that started in the `seconds` before. What starts in the same fiftieth of the span becomes one
-- entry that counts from the last of them: in no span there are ever more starts than are counted.
create function add_starts(inout at timestamptz[], inout jobs integer[], started integer, present timestamptz, seconds integer)
language plpgsql immutable as $$
declare
  forgotten integer;
  last      integer;
begin
  -- Whoever comes later may have begun sooner. What stands more than a span ahead was written by a clock that was wrong.
  if at[cardinality(at)] > present + seconds * interval '1 second' then
    at := '{}';
    jobs := '{}';
  end if;
  present := greatest(present, at[cardinality(at)]);
  forgotten := (select count(*) from unnest(at) as a where a <= present - seconds * interval '1 second');
  at := at[forgotten + 1 :];
  jobs := jobs[forgotten + 1 :];
  last := cardinality(at);
  if last > 0 and floor(extract(epoch from at[last]) * 50 / seconds) = floor(extract(epoch from present) * 50 / seconds) then
    at[last] := present;
    jobs[last] := jobs[last] + started;
  else
    at := at || present;
    jobs := jobs || started;
  end if;
end $$;

-- What admits the jobs of a queue, as claims read it and as callers are told it: a claim takes, in their order, as many claimable
-- jobs as there are slots and starts free. Null: any number. `starts_at` is when more starts will be free.
create view lane_gate as
  select q.workspace_id, q.id as lane_id, q.revision, q.callback_timeout, w.plan, q.paused, q.callback_url is not null as has_handler,
    q.concurrency is not null or q.rate_max is not null as limited,
    q.concurrency, in_flight.jobs as in_flight, case when q.concurrency is not null then greatest(0, q.concurrency - in_flight.jobs) end as slots_free,
    q.rate_max, q.rate_seconds, started.jobs as started, case when q.rate_max is not null then greatest(0, q.rate_max - started.jobs) end as starts_free,
    started.first_at + q.rate_seconds * interval '1 second' as starts_at, moment() as read_at
  from queue q join workspace w on w.id = q.workspace_id
  left join lateral (
    -- Where there is no limit nothing is counted. By the workspace, too, whole queues would be offered to be read.
    select count(*) as jobs from node join job on job.node_id = node.id and job.lane_id = q.id and job.state = 'active'
    where q.concurrency is not null and job.workspace_id is not distinct from q.workspace_id
  ) in_flight on q.concurrency is not null
  left join lateral (
    select coalesce(sum(e.jobs), 0) as jobs, min(e.at) as first_at
    from lane_starts s cross join unnest(s.at, s.jobs) as e (at, jobs)
    where q.rate_max is not null and s.workspace_id = q.workspace_id and s.lane_id = q.id
      and e.at > moment() - q.rate_seconds * interval '1 second' and e.at <= moment() + q.rate_seconds * interval '1 second'
  ) started on q.rate_max is not null
  -- Not `is null`: that would offer queue_name, by which a plan that was made for few queues reads all those of a workspace.
  where coalesce(q.deleted_at, 'infinity') = 'infinity';

-- What admits the jobs of some queues, read once nobody else can claim from them; those that somebody else has just now are left
-- out, and waited for by nobody. What is to be taken of each is handed through.
create function lock_gates(workspaces uuid[], lanes bigint[], takes integer[]) returns table (take integer, gate lane_gate)
language plpgsql as $$
declare
  locked bigint[];
begin
  locked := array(
    select q.id from unnest(workspaces, lanes) as l (workspace_id, lane_id)
    join queue q on q.workspace_id = l.workspace_id and q.id = l.lane_id
    for no key update of q skip locked);
  return query
    select l.take, row(g.*)::lane_gate
    from unnest(workspaces, lanes, takes) as l (workspace_id, lane_id, take)
    cross join lateral (select * from lane_gate g where g.workspace_id = l.workspace_id and g.lane_id = l.lane_id offset 0) g
    where l.lane_id = any(locked);
end $$;

-- Locks keys until the transaction ends, in one order for all who lock some. They share 4,096 locks, 8 to a queue: whatever is
-- moved at once, the server's table of locks has room for them.
create function lock_keys(lanes bigint[], keys text[]) returns void language plpgsql strict as $$
begin
  perform pg_advisory_xact_lock(lane, bucket)
  from (
    select distinct (k.lane_id & 511)::integer as lane, hashtext(k.key) & 7 as bucket
    from unnest(lanes, keys) as k (lane_id, key) order by 1, 2 offset 0
  ) locks;
end $$;

-- Locks all keys of a queue, as lock_keys would.
create function lock_keys_of(lane_id bigint) returns void language plpgsql strict as $$
begin
  perform pg_advisory_xact_lock((lane_id & 511)::integer, bucket) from (select generate_series(0, 7) as bucket order by 1 offset 0) locks;
end $$;

-- Gives the slots of keys to the jobs whose turn it is: of those that wait, in their order, as many as the active ones leave free.
-- Whoever moves jobs of a key ends with this, in the same transaction, unless by a claim, which moves no slot. What is read comes
-- after the lock, and so knows of all that was moved before.
--
-- It sees the tables themselves, also for a tenant, whose views would have them joined otherwise: its workspaces it names. Each step is
-- found before the next begins (`offset 0`), so that a planner that knows little of the tables cannot begin with all jobs; that slots are
-- compared through coalesce keeps it from the indexes of all that is blocked, or claimable. Leans on job_key, job_key_slot and the
-- primary key.
create function arrange_keys(workspaces uuid[], lanes bigint[], keys text[]) returns void language plpgsql strict
set search_path = tidemill as $$
begin
  perform lock_keys(lanes, keys);

  -- One that a higher priority has overtaken, or a lower limit left without its place, goes back; unless it is being claimed just now.
  update job j set key_slot = null
  from (
    select r.workspace_id, r.lane_id, r.id
    from (
      select distinct k.workspace_id, k.lane_id, lane_key(k.lane_id, k.key) collate "C" as key
      from unnest(workspaces, lanes, keys) as k (workspace_id, lane_id, key)
    ) k
    join queue q on q.workspace_id = k.workspace_id and q.id = k.lane_id and coalesce(q.deleted_at, 'infinity') = 'infinity'
    cross join lateral (
      select count(*) filter (where s.state = 'active') as active, array_agg(s.id) filter (where s.state = 'waiting') as ready
      from job s
      where lane_key(s.lane_id, s.concurrency_key) collate "C" = k.key and s.workspace_id is not distinct from k.workspace_id
        and s.key_slot is not null
    ) held
    cross join lateral (
      select array(
        select unnest(held.ready)
        except (
          select n.id from job n
          where lane_key(n.lane_id, n.concurrency_key) collate "C" = k.key and n.workspace_id is not distinct from k.workspace_id
            and n.state = 'waiting' and n.concurrency_key is not null
          order by n.priority desc, n.run_at, n.id limit greatest(0, q.concurrency_per_key - held.active))) as ids
      where held.ready is not null offset 0
    ) overtaken
    cross join lateral (
      select w.workspace_id, w.lane_id, w.id from job w
      where w.workspace_id = any(array[k.workspace_id]) and w.lane_id = k.lane_id and w.id = any(overtaken.ids) and w.state = 'waiting'
      for update skip locked
    ) r
    offset 0
  ) r
  where j.workspace_id = any(array[r.workspace_id]) and j.lane_id = r.lane_id and j.id = r.id;

  update job j set key_slot = p.slot
  from (
    select k.workspace_id, k.lane_id, f.id, f.slot
    from (
      select distinct k.workspace_id, k.lane_id, lane_key(k.lane_id, k.key) collate "C" as key
      from unnest(workspaces, lanes, keys) as k (workspace_id, lane_id, key)
    ) k
    join queue q on q.workspace_id = k.workspace_id and q.id = k.lane_id and coalesce(q.deleted_at, 'infinity') = 'infinity'
    cross join lateral (
      select count(*) as slots, array_agg(s.key_slot) as taken
      from job s
      where lane_key(s.lane_id, s.concurrency_key) collate "C" = k.key and s.workspace_id is not distinct from k.workspace_id
        and s.key_slot is not null
    ) held
    cross join lateral (
      select array(
        select w.id from job w
        where lane_key(w.lane_id, w.concurrency_key) collate "C" = k.key and w.workspace_id is not distinct from k.workspace_id
          and w.state = 'waiting' and w.concurrency_key is not null and coalesce(w.key_slot, 0) = 0
        order by w.priority desc, w.run_at, w.id limit greatest(0, q.concurrency_per_key - held.slots)) as ids offset 0
    ) n
    cross join lateral (
      select f.id, f.slot
      from unnest(n.ids, array(
        select generate_series(1, q.concurrency_per_key) except select unnest(held.taken) order by 1 limit cardinality(n.ids))) as f (id, slot)
      where cardinality(n.ids) > 0 offset 0
    ) f
    offset 0
  ) p
  where j.workspace_id = any(array[p.workspace_id]) and j.lane_id = p.lane_id and j.id = p.id and j.state = 'waiting';
end $$;
