create type job_state as enum
  ('waiting', 'delayed', 'pending_approval', 'active', 'completed', 'failed', 'cancelled', 'rejected');

-- The kind of a job decides how it is delivered and what its outcome changes. `queue`: a caller enqueued it. `run`: it is the next
-- execution of a run, and has the id of that run.
create type job_kind as enum ('queue', 'run');

-- Jobs that are not finished, and the dead-letter queue.
create table job (
  workspace_id     uuid not null,
  lane_id          bigint not null,
  id               uuid not null,
  kind             job_kind not null default 'queue',
  state            job_state not null,
  priority         smallint not null,
  -- How many nodes in a row were lost while they held it.
  node_losses      smallint not null default 0,
  attempt          integer not null default 0,
  -- Attempts that do not count against the allowed ones: those before a manual retry, or lost with their node.
  spared           integer not null default 0,
  attempts         integer not null,
  backoff_delay_ms integer not null,
  -- One of the slots of its concurrency key, from 1. A slot belongs to at most one job (I6). A waiting job with a key but no slot is
  -- blocked: no claim sees it. There is no counter that could drift: a job that ends or is given back frees its slot.
  key_slot         integer check (key_slot >= 1),
  lease_id         bigint,
  -- When a worker's claim ends. Null: it lasts as long as the lease of its node.
  lease_until      timestamptz,
  -- The name that the worker gave to the call that took the job.
  lease_request    text,
  run_at           timestamptz not null,
  created_at       timestamptz not null,
  started_at       timestamptz,
  finished_at      timestamptz,
  -- When its approval times out.
  decide_at        timestamptz,
  tag              text,
  concurrency_key  text,
  idempotency_key  text,
  -- The name of the schedule that created the job, which may be deleted before the job; and its tick.
  schedule         text,
  scheduled_for    timestamptz,
  -- The trace of the request that enqueued it (W3C Trace Context).
  traceparent      text,
  tracestate       text,
  payload          text not null,
  -- The decision on it, JSON.
  approval         text,
  last_error       text,
  -- The code within last_error, for the dead-letter queue's filter.
  error_code       text,
  -- One JSON object for each attempt that ended, separated by commas.
  attempts_log     text not null default '',
  primary key (workspace_id, lane_id, id),
  check (state in ('waiting', 'delayed', 'pending_approval', 'active', 'failed')),
  check ((state = 'active') = (lease_id is not null)),
  check (lease_id is not null or lease_until is null and lease_request is null),
  check ((state = 'failed') = (finished_at is not null)),
  check (attempt - spared <= attempts and spared <= attempt),
  check (decide_at is null or state = 'pending_approval'),
  check (key_slot is null or concurrency_key is not null and state in ('waiting', 'active')),
  check (state <> 'active' or concurrency_key is null or key_slot is not null)
) with (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.1
);

-- A concurrency key with its lane, as one value. No other index starts with it, so a planner without statistics cannot choose an index
-- that reads all jobs of the lane to find those of a key.
create function lane_key(lane_id bigint, key text) returns text language sql immutable parallel safe as $$ select lane_id::text || '/' || key $$;

-- The jobs that can be claimed, in claim order.
create index job_claimable on job (workspace_id, lane_id, priority desc, run_at, id)
  where state = 'waiting' and (concurrency_key is null or key_slot is not null);
-- The blocked jobs of a lane, by age.
create index job_blocked on job (workspace_id, lane_id, run_at)
  where state = 'waiting' and concurrency_key is not null and key_slot is null;
create unique index job_key_slot on job ((lane_key(lane_id, concurrency_key) collate "C"), key_slot, workspace_id) where key_slot is not null;
-- The waiting jobs of a key, with or without a slot, in the order in which they get one.
create index job_key on job ((lane_key(lane_id, concurrency_key) collate "C"), priority desc, run_at, id)
  where state = 'waiting' and concurrency_key is not null;
create index job_due on job (run_at) where state = 'delayed';
-- The same by workspace: workspaces take turns when many jobs are due.
create index job_due_share on job (workspace_id, run_at) where state = 'delayed';
-- The jobs of a lease, also by lane. A separate index by lane cost 6 µs per claimed job.
create index job_active on job (lease_id, lane_id) where state = 'active';
create index job_lease_until on job (lease_until) where lease_until is not null;
create index job_failed on job (workspace_id, id desc) where state = 'failed';
-- Jobs that neither wait nor are active: it finds a few of them among a million waiting jobs.
create index job_parked on job (workspace_id, lane_id, id desc) where state in ('delayed', 'pending_approval', 'failed');
create index job_pending on job (workspace_id, id desc) where state = 'pending_approval';
-- The first column is the same in all rows, so that no plan uses this index for one workspace.
create index job_undecided on job (state, decide_at) where state = 'pending_approval' and decide_at is not null;
-- The same by workspace: workspaces take turns when many approvals time out.
create index job_undecided_share on job (workspace_id, decide_at) where state = 'pending_approval' and decide_at is not null;
create index job_tag on job (workspace_id, lane_id, tag, id) where tag is not null;
-- Whether a schedule has an unfinished job.
create index job_schedule on job (workspace_id, schedule) where schedule is not null and state <> 'failed';

-- Finished jobs, partitioned by the month in which they expire: retention drops whole partitions instead of deleting rows.
create table job_history (
  workspace_id     uuid not null,
  lane_id          bigint not null,
  id               uuid not null,
  kind             job_kind not null,
  state            job_state not null check (state in ('completed', 'cancelled', 'rejected')),
  priority         smallint not null,
  attempt          integer not null,
  spared           integer not null,
  attempts         integer not null,
  backoff_delay_ms integer not null,
  run_at           timestamptz not null,
  created_at       timestamptz not null,
  started_at       timestamptz,
  finished_at      timestamptz not null,
  tag              text,
  concurrency_key  text,
  idempotency_key  text,
  schedule         text,
  scheduled_for    timestamptz,
  traceparent      text,
  tracestate       text,
  payload          text not null,
  approval         text,
  result           text,
  last_error       text,
  attempts_log     text not null,
  expires_at       timestamptz not null,
  primary key (workspace_id, lane_id, id, expires_at)
) partition by range (expires_at);
create index job_history_tag on job_history (workspace_id, lane_id, tag, id) where tag is not null;
-- Jobs that expire after the last partition that exists.
create table job_history_later partition of job_history default;
create index job_history_later_expiry on job_history_later (expires_at);
-- Jobs that never expire. In the default partition, every new month would scan them.
create table job_history_forever partition of job_history for values from ('infinity') to (maxvalue);

-- Counts of finished jobs: each statement that finishes jobs appends one row per lane. A loop folds old rows.
create table tally (
  workspace_id uuid not null,
  lane_id      bigint not null,
  at           timestamptz not null,
  completed    integer not null default 0,
  failed       integer not null default 0,
  cancelled    integer not null default 0,
  rejected     integer not null default 0
);
create index tally_lane on tally (workspace_id, lane_id, at);
create index tally_at on tally (at);

-- Idempotency keys, so that a job that is sent again is stored once. A key lasts as long as its job: when the job is deleted, the key is
-- free. There is no foreign key to the lane, whose row every enqueue would then have to lock.
create table idempotency_key (
  workspace_id uuid not null,
  lane_id      bigint not null,
  key          text not null,
  job_id       uuid not null,
  -- Distinguishes a duplicate from a different job with the same key.
  fingerprint  bytea not null check (length(fingerprint) = 32),
  -- When to check whether the job still exists.
  check_at     timestamptz not null,
  primary key (workspace_id, lane_id, key)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index idempotency_key_check on idempotency_key (check_at);

-- Idempotency keys of batches, so that a batch that is sent again is stored once. One row costs a hundredth of a key for each of a hundred
-- jobs. A key lasts for a day.
create table batch_key (
  workspace_id uuid not null,
  lane_id      bigint not null,
  key          text not null,
  -- The jobs of the batch in the order sent.
  job_ids      uuid[] not null,
  -- Distinguishes a repeated batch from a different one with the same key.
  fingerprint  bytea not null check (length(fingerprint) = 32),
  expires_at   timestamptz not null,
  primary key (workspace_id, lane_id, key)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index batch_key_expiry on batch_key (expires_at);

-- All jobs that callers may see, live and finished.
create view job_record as
  select workspace_id, lane_id, id, kind, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at,
    tag, concurrency_key, payload, null::text as result, last_error, attempts_log, schedule, scheduled_for, idempotency_key, approval
  from job
  union all
  select workspace_id, lane_id, id, kind, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at,
    tag, concurrency_key, payload, result, last_error, attempts_log, schedule, scheduled_for, idempotency_key, approval
  from job_history where expires_at > moment();

-- Appends an entry to a log of attempts, for an attempt under a lease that ends now.
create function log_attempt(log text, attempt integer, started_at timestamptz, of_lease bigint, outcome text, error text)
returns text language sql stable as $$
  select concat_ws(',', nullif(log, ''), json_build_object('attempt', attempt, 'started_at',
    to_char(started_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'duration_ms', round((extract(epoch from moment() - started_at) * 1000)::numeric, 2), 'outcome', outcome,
    'status', null, 'error', error::json, 'worker', (select worker from lease where id = of_lease))::text)
$$;

-- A decision made now, as the JSON text that jobs store.
create function show_decision(decision text, by text, comment text) returns text language sql stable as $$
  select json_build_object('decision', decision, 'by', by, 'comment', comment,
    'decided_at', to_char(moment(), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
$$;

-- The limits of a lane and what is free of them. Claims and explain both read it. A claim takes, in claim order, as many claimable jobs
-- as there are free slots and starts; null means no limit. `starts_at` is when more starts will be free.
create view lane_gate as
  select l.workspace_id, l.id as lane_id, l.revision, l.attempt_timeout_seconds, w.plan, l.paused, l.served,
    l.concurrency is not null or l.rate_max is not null as limited,
    l.concurrency, in_flight.jobs as in_flight, case when l.concurrency is not null then greatest(0, l.concurrency - in_flight.jobs) end as slots_free,
    l.rate_max, l.rate_seconds, started.jobs as started, case when l.rate_max is not null then greatest(0, l.rate_max - started.jobs) end as starts_free,
    started.first_at + l.rate_seconds * interval '1 second' as starts_at, moment() as read_at
  from lane l join workspace w on w.id = l.workspace_id
  left join lateral (
    -- Counted only if there is a limit, through the leases of nodes and of the workspace's workers.
    select count(*) as jobs from lease join job on job.lease_id = lease.id and job.lane_id = l.id and job.state = 'active'
    where l.concurrency is not null and job.workspace_id is not distinct from l.workspace_id
      and (lease.workspace_id is null or lease.workspace_id = l.workspace_id)
  ) in_flight on l.concurrency is not null
  left join lateral (
    select coalesce(sum(e.jobs), 0) as jobs, min(e.at) as first_at
    from lane_starts s cross join unnest(s.at, s.jobs) as e (at, jobs)
    where l.rate_max is not null and s.workspace_id = l.workspace_id and s.lane_id = l.id
      and e.at > moment() - l.rate_seconds * interval '1 second' and e.at <= moment() + l.rate_seconds * interval '1 second'
  ) started on l.rate_max is not null
  -- Not `is null`, which would allow index lane_name: a plan made for few lanes would read all lanes of a workspace by it.
  where coalesce(l.deleted_at, 'infinity') = 'infinity';

-- Locks lanes, then reads their gates, so that no other claim can take from them. Lanes that another claim has locked are left out; it
-- never waits. `takes` is returned unchanged.
create function lock_lane_gates(workspaces uuid[], lanes bigint[], takes integer[]) returns table (take integer, gate lane_gate)
language plpgsql as $$
declare
  locked bigint[];
begin
  locked := array(
    select l.id from unnest(workspaces, lanes) as asked (workspace_id, lane_id)
    join lane l on l.workspace_id = asked.workspace_id and l.id = asked.lane_id
    for no key update of l skip locked);
  return query
    select l.take, row(g.*)::lane_gate
    from unnest(workspaces, lanes, takes) as l (workspace_id, lane_id, take)
    cross join lateral (select * from lane_gate g where g.workspace_id = l.workspace_id and g.lane_id = l.lane_id offset 0) g
    where l.lane_id = any(locked);
end $$;

-- The next jobs of a lane, locked. A function reads what was committed before it is called, not only before its statement began: a claim
-- calls it after lock_lane_gates, so that limits and jobs are seen at the same time. Uses index job_claimable.
create function next_jobs(workspace uuid, lane bigint, count bigint) returns setof uuid language plpgsql rows 10 as $$
begin
  return query
    select j.id from job j
    where j.workspace_id = workspace and j.lane_id = lane and j.state = 'waiting' and (j.concurrency_key is null or j.key_slot is not null)
    order by j.priority desc, j.run_at, j.id limit count for update skip locked;
end $$;

-- Locks concurrency keys until the transaction ends. All callers lock in the same order. Keys share 4,096 locks, 8 per lane, so that
-- the server's lock table never runs full.
create function lock_keys(lanes bigint[], keys text[]) returns void language plpgsql strict as $$
begin
  perform pg_advisory_xact_lock(lane, bucket)
  from (
    select distinct (k.lane_id & 511)::integer as lane, hashtext(k.key) & 7 as bucket
    from unnest(lanes, keys) as k (lane_id, key) order by 1, 2 offset 0
  ) locks;
end $$;

-- Locks all concurrency keys of a lane with the locks of lock_keys.
create function lock_keys_of(lane_id bigint) returns void language plpgsql strict as $$
begin
  perform pg_advisory_xact_lock((lane_id & 511)::integer, bucket) from (select generate_series(0, 7) as bucket order by 1 offset 0) locks;
end $$;

-- Assigns the slots of keys to waiting jobs, in claim order, as far as active jobs leave slots free. Every move of jobs with a key ends
-- with this, in its transaction. A claim does not need it, since it moves no slot. Everything is read after the lock, and so includes
-- every earlier move.
--
-- It always reads the tables, because the planner would join a tenant's views in another order. It names the workspaces itself. Each
-- step ends before the next begins (`offset 0`), so that a planner without statistics cannot begin with all jobs. Slots are compared
-- through coalesce to keep the planner from the indexes of all blocked or claimable jobs. Uses indexes job_key and job_key_slot, and the
-- primary key.
create function assign_key_slots(workspaces uuid[], lanes bigint[], keys text[]) returns void language plpgsql strict
set search_path = tidemill as $$
begin
  perform lock_keys(lanes, keys);

  -- A waiting job loses its slot when a job of higher priority overtakes it, or when the limit is lowered; not while it is being claimed.
  update job j set key_slot = null
  from (
    select r.workspace_id, r.lane_id, r.id
    from (
      select distinct k.workspace_id, k.lane_id, lane_key(k.lane_id, k.key) collate "C" as key
      from unnest(workspaces, lanes, keys) as k (workspace_id, lane_id, key)
    ) k
    join lane l on l.workspace_id = k.workspace_id and l.id = k.lane_id and coalesce(l.deleted_at, 'infinity') = 'infinity'
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
          order by n.priority desc, n.run_at, n.id limit greatest(0, l.concurrency_per_key - held.active))) as ids
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
    join lane l on l.workspace_id = k.workspace_id and l.id = k.lane_id and coalesce(l.deleted_at, 'infinity') = 'infinity'
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
        order by w.priority desc, w.run_at, w.id limit greatest(0, l.concurrency_per_key - held.slots)) as ids offset 0
    ) n
    cross join lateral (
      select f.id, f.slot
      from unnest(n.ids, array(
        select generate_series(1, l.concurrency_per_key) except select unnest(held.taken) order by 1 limit cardinality(n.ids))) as f (id, slot)
      where cardinality(n.ids) > 0 offset 0
    ) f
    offset 0
  ) p
  where j.workspace_id = any(array[p.workspace_id]) and j.lane_id = p.lane_id and j.id = p.id and j.state = 'waiting';
end $$;
