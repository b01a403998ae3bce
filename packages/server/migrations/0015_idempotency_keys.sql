-- What callers named their jobs by, so that a job sent again is the same one. A key lasts as long as its job's record: one whose
-- record is gone is nobody's. A key is not bound to its queue's row, which every enqueue would have to lock.
create table idempotency_key (
  workspace_id uuid not null,
  lane_id      bigint not null,
  key          text not null,
  job_id       uuid not null,
  -- Of what was sent, to tell a repeat from another job under the same key.
  fingerprint  bytea not null check (length(fingerprint) = 32),
  -- When to see whether the record is still there.
  check_at     timestamptz not null,
  primary key (workspace_id, lane_id, key)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index idempotency_key_check on idempotency_key (check_at);

alter table job add column idempotency_key text;
alter table job_history add column idempotency_key text;
