-- Queues whose callback host is taken for dead: one row while the circuit is open. Claims take from such a queue one job at a time,
-- a probe, and that not before `probe_at`.
create table circuit (
  workspace_id uuid not null,
  lane_id      bigint not null,
  -- Of the queue's configuration that it opened under: what was answered under an older one does not close it.
  revision     integer not null,
  opened_at    timestamptz not null default moment(),
  -- Probes that failed since it opened.
  probes       integer not null default 0,
  probe_at     timestamptz not null,
  -- Of the last failure, JSON.
  last_error   text not null,
  primary key (workspace_id, lane_id),
  foreign key (workspace_id, lane_id) references queue on delete cascade
);

select make_tenant_views();
