-- What a lane belongs to. A webhook endpoint will have one, too.
create type lane_kind as enum ('queue', 'workflow');

-- How the jobs of a lane are served: nodes deliver them (push), workers fetch them (pull), or neither (none).
create type lane_service as enum ('push', 'pull', 'none');

create table lane (
  workspace_id            uuid not null references workspace on delete cascade,
  id                      bigint generated always as identity,
  kind                    lane_kind not null,
  name                    text not null,
  served                  lane_service not null,
  paused                  boolean not null default false,
  -- Jobs in flight at once over all nodes and workers. Null: no limit.
  concurrency             integer check (concurrency >= 1),
  concurrency_per_key     integer not null default 1 check (concurrency_per_key >= 1),
  -- At most rate_max jobs start in any rate_seconds. Null: no limit.
  rate_max                integer check (rate_max >= 1),
  rate_seconds            integer check (rate_seconds >= 1),
  -- Defaults for jobs that do not set their own.
  attempts                integer not null default 3,
  backoff_delay_ms        integer not null default 1000,
  -- How long one attempt may take when a node delivers it.
  attempt_timeout_seconds integer not null default 30,
  -- After a change of concurrency_per_key: the slots of keys after this one are still to be reassigned. Null: none are.
  reassign_after_key      text,
  -- Grows with every change of the lane or of what it belongs to. Each claim carries it, so nodes notice outdated settings.
  revision                integer not null default 1,
  -- Callers no longer see a deleted lane. The sweep deletes its jobs, then this row.
  deleted_at              timestamptz,
  primary key (workspace_id, id),
  check ((rate_max is null) = (rate_seconds is null))
);
create unique index lane_name on lane (workspace_id, kind, name) where deleted_at is null;
-- The lanes that may be claimed from, by who serves them. With `served` in front, no plan uses it, or the primary key in its place, for
-- the lanes of one workspace.
create index lane_served on lane (served, workspace_id, id) where not paused and deleted_at is null;
create index lane_deleted on lane (id) where deleted_at is not null;
create index lane_to_reassign on lane (workspace_id, id) where reassign_after_key is not null;

-- The latest starts of each lane with a rate limit, grouped by fiftieths of its span: how many jobs started, and when the last one did.
create table lane_starts (
  workspace_id uuid not null,
  lane_id      bigint not null,
  at           timestamptz[] not null,
  jobs         integer[] not null,
  primary key (workspace_id, lane_id),
  foreign key (workspace_id, lane_id) references lane on delete cascade,
  check (cardinality(at) = cardinality(jobs))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Adds jobs that start at `present` to the starts of the last `seconds`. Starts in the same fiftieth of the span share one entry, with the
-- time of the last one. So every span contains at most as many starts as are counted.
create function add_starts(inout at timestamptz[], inout jobs integer[], started integer, present timestamptz, seconds integer)
language plpgsql immutable as $$
declare
  forgotten integer;
  last      integer;
begin
  -- `present` may be before the last entry, whose transaction began later. More than a span ahead, it comes from a wrong clock.
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

-- Lanes whose endpoint fails: one row while the circuit is open. Claims take one job at a time from such a lane, as a probe, and not
-- before `probe_at`.
create table circuit (
  workspace_id uuid not null,
  lane_id      bigint not null,
  -- The lane's revision when the circuit opened. Responses to attempts under an older revision do not close it.
  revision     integer not null,
  opened_at    timestamptz not null default moment(),
  -- Probes that failed since it opened.
  probes       integer not null default 0,
  probe_at     timestamptz not null,
  -- The last failure, JSON.
  last_error   text not null,
  primary key (workspace_id, lane_id),
  foreign key (workspace_id, lane_id) references lane on delete cascade
);

-- A queue: its settings, apart from those that every lane has.
create table queue (
  workspace_id     uuid not null,
  id               bigint not null,
  type             text not null default 'standard' check (type in ('standard', 'approval')),
  callback_url     text,
  callback_headers text not null default '{}',
  callback_secret  text,
  -- Seconds after which a pending job is decided by on_timeout. Null: it stays pending.
  approval_timeout integer check (approval_timeout >= 1),
  on_timeout       text not null default 'reject' check (on_timeout in ('reject', 'approve')),
  created_at       timestamptz not null default moment(),
  updated_at       timestamptz not null default moment(),
  primary key (workspace_id, id),
  foreign key (workspace_id, id) references lane on delete cascade,
  check (callback_url is null or callback_secret is not null),
  check (approval_timeout is null or type = 'approval')
);

-- Queues with the settings of their lane, deleted ones too: statements filter by deleted_at or by id.
create view queue_record as
  select l.workspace_id, l.id, l.name, q.type, q.callback_url, q.callback_headers, l.attempt_timeout_seconds as callback_timeout,
    q.callback_secret, l.attempts, l.backoff_delay_ms, l.concurrency, l.concurrency_per_key, l.reassign_after_key, l.rate_max,
    l.rate_seconds, l.paused, q.approval_timeout, q.on_timeout, l.revision, q.created_at, q.updated_at, l.deleted_at
  from lane l join queue q on q.workspace_id = l.workspace_id and q.id = l.id
  where l.kind = 'queue';

-- Leases, under which claims are held. A node has one lease for all its claims, and loses them when it expires. A worker has one lease,
-- which names it; each of its claims ends by itself (`lease_until` of the job). An expired lease never becomes valid again.
create table lease (
  id           bigint generated always as identity primary key,
  holder       text not null check (holder in ('node', 'worker')),
  -- A worker's workspace, and the name that it chose. A node works for all workspaces.
  workspace_id uuid,
  worker       text,
  started_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  check ((holder = 'worker') = (workspace_id is not null) and (holder = 'worker') = (worker is not null))
);
create index lease_node on lease (expires_at) where holder = 'node';
create unique index lease_worker on lease (workspace_id, worker) where workspace_id is not null;

-- Workers, as they last called.
create table worker (
  lease_id     bigint primary key references lease on delete cascade,
  -- Its tokens contain it: who does not have it cannot settle the worker's jobs.
  secret       bytea not null default uuid_send(gen_random_uuid()) check (length(secret) = 16),
  version      text,
  queues       text[] not null,
  last_seen_at timestamptz not null
);

-- Running nodes. Each process has its own row.
create table node (
  lease_id       bigint primary key references lease on delete cascade,
  -- The master keys that the node has. A rotation waits until every live node has the new one.
  master_key_ids text[] not null
);
