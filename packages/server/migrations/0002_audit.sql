-- The head of a workspace's chain of audit events: its last sequence number and hash. Locking it is what puts events in order.
create table audit_chain (
  workspace_id uuid primary key,
  seq          bigint not null,
  hash         bytea not null check (length(hash) = 32)
);

-- Facts, each with the hash of the one before it, partitioned by the month in which they expire. Nothing refers to the workspace:
-- what a deleted one did stays until it expires.
create table audit_event (
  workspace_id  uuid not null,
  seq           bigint not null check (seq > 0),
  id            uuid not null,
  event_type    text not null,
  occurred_at   timestamptz not null,
  actor_id      text not null,
  resource_type text not null,
  resource_id   text not null,
  input         text,
  output        text,
  previous      bytea not null,
  hash          bytea not null,
  expires_at    timestamptz not null,
  primary key (workspace_id, seq, expires_at)
) partition by range (expires_at);
-- With the expiry, so that the planner does not take the primary key for cheaper, which would read what is of other types or actors.
create index audit_event_type on audit_event (workspace_id, event_type, seq, expires_at);
create index audit_event_actor on audit_event (workspace_id, actor_id, seq, expires_at);
create table audit_event_later partition of audit_event default;
-- What never expires is kept apart: it would be looked through whenever a month is made.
create table audit_event_forever partition of audit_event for values from ('infinity') to (maxvalue);

-- Stretches of a chain that retention dropped: each goes on from `previous` at `from_seq` and ends in `hash` at `to_seq`.
create table audit_dropped (
  workspace_id uuid not null,
  from_seq     bigint not null,
  to_seq       bigint not null check (to_seq >= from_seq),
  previous     bytea not null,
  hash         bytea not null,
  dropped_at   timestamptz not null,
  primary key (workspace_id, from_seq)
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: % is refused', tg_argv[0], lower(tg_op) using errcode = 'restrict_violation';
end $$;

-- A row's trigger stands on each partition too. A statement's does not: make_partition sees to it.
create trigger append_only before update or delete on audit_event for each row execute function refuse_change('audit_event');
create trigger never_emptied before truncate on audit_event for each statement execute function refuse_change('audit_event');
create trigger never_emptied before truncate on audit_event_later for each statement execute function refuse_change('audit_event');
create trigger never_emptied before truncate on audit_event_forever for each statement execute function refuse_change('audit_event');

-- A field as the hash takes it: its length in bytes of UTF-8, a colon, its text; null is a dash. So no two lists of fields read the same.
create function audit_field(value text) returns text language sql immutable parallel safe as
  $$ select coalesce(octet_length(convert_to(value, 'UTF8')) || ':' || value, '-') $$;

-- A moment as the hash takes it: in UTC, with microseconds.
create function audit_moment(at timestamptz) returns text language sql stable parallel safe as
  $$ select case when isfinite(at) then to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') else at::text end $$;

-- Appends a fact to its workspace's chain, under the lock of the chain's head until the transaction ends. The hash is SHA-256 over
-- the fields, in the order in which they are given below, the first event's `previous` being 32 zero bytes.
create function append_audit_event(
  of_workspace uuid, event uuid, type text, actor text, on_type text, on_id text, asked text, answered text
) returns void language plpgsql as $$
declare
  days     integer;
  expires  timestamptz;
  head     record;
  new_hash bytea;
begin
  select retention_days into days from workspace where id = of_workspace;
  if not found then raise exception 'there is no workspace %', of_workspace using errcode = 'foreign_key_violation'; end if;
  expires := coalesce(moment() + days * interval '1 day', 'infinity');
  loop
    select seq + 1 as seq, hash into head from audit_chain where workspace_id = of_workspace for update;
    exit when found;
    insert into audit_chain (workspace_id, seq, hash) values (of_workspace, 0, decode(repeat('00', 32), 'hex')) on conflict do nothing;
  end loop;
  new_hash := sha256(convert_to(concat(
    audit_field(encode(head.hash, 'hex')), audit_field(of_workspace::text), audit_field(head.seq::text), audit_field(event::text),
    audit_field(type), audit_field(audit_moment(moment())), audit_field(actor), audit_field(on_type), audit_field(on_id),
    audit_field(asked), audit_field(answered), audit_field(audit_moment(expires))), 'UTF8'));
  insert into audit_event (workspace_id, seq, id, event_type, occurred_at, actor_id, resource_type, resource_id, input, output,
    previous, hash, expires_at)
  values (of_workspace, head.seq, event, type, moment(), actor, on_type, on_id, asked, answered, head.hash, new_hash, expires);
  update audit_chain set seq = head.seq, hash = new_hash where workspace_id = of_workspace;
end $$;
