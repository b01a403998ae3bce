-- The current master key of the vault, which wraps new data keys. One row; none before the first start.
create table vault (
  only_row      boolean primary key default true check (only_row),
  master_key_id text not null
);

-- Secrets. Each is encrypted with its own data key, which is wrapped by the master key. Both ciphertexts are bound to the workspace, id
-- and name, and that of the value to the limits of its use.
create table secret (
  workspace_id   uuid not null references workspace on delete cascade,
  id             uuid not null,
  name           text not null,
  value_hint     text not null,
  ciphertext     bytea not null,
  wrapped_key    bytea not null,
  -- The id of the master key that wraps the data key: a digest of that key.
  master_key_id  text not null,
  -- Queues that may use the secret. Null allows all.
  allowed_queues text[],
  -- Hosts to which the secret may be sent. Null allows all.
  allowed_hosts  text[],
  created_at     timestamptz not null default moment(),
  updated_at     timestamptz not null default moment(),
  primary key (workspace_id, id)
);
create unique index secret_name on secret (workspace_id, name);
create index secret_master_key on secret (master_key_id, workspace_id, id);
