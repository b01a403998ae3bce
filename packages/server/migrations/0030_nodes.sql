-- What a node writes about itself, for the operator's list of nodes. Null: it runs a version from before this.
alter table node
  -- The process. It keeps this when it goes on under a new lease, so that the row of the old one is not taken for another node.
  add column process          uuid not null default gen_random_uuid(),
  add column host             text,
  add column version          text,
  -- When the process started. It may have held other leases before this.
  add column started_at       timestamptz,
  -- When it last renewed its lease, and its memory then.
  add column seen_at          timestamptz,
  add column memory_bytes     bigint,
  add column max_memory_bytes bigint,
  -- How many attempts it may have in flight.
  add column max_in_flight    integer,
  -- When it began to stop.
  add column draining_at      timestamptz,
  -- It ended its lease itself. A node that died has only an expired one.
  add column stopped          boolean not null default false;
-- The newer leases of a process.
create index node_process on node (process, lease_id);
