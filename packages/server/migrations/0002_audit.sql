-- The head of a workspace's chain of audit events: what the next event refers to. Each append locks it, which orders the events.
create table audit_chain (
  workspace_id uuid primary key,
  seq          bigint not null,
  hash         bytea not null check (length(hash) = 32),
  -- When the last event expires.
  expires_at   timestamptz not null
);

-- Audit events, each with the hash of the event before it. Partitioned by the month in which they expire. There is no foreign key to
-- the workspace, because the events of a deleted workspace stay until they expire.
create table audit_event (
  workspace_id        uuid not null,
  seq                 bigint not null check (seq > 0),
  id                  uuid not null,
  event_type          text not null,
  occurred_at         timestamptz not null,
  actor_id            text not null,
  resource_type       text not null,
  -- Null when the event is about several resources, which its input lists.
  resource_id         text,
  input               text,
  output              text,
  previous            bytea not null,
  -- When the event before expires, which says whether retention may have dropped it.
  previous_expires_at timestamptz not null,
  hash                bytea not null,
  expires_at          timestamptz not null,
  primary key (workspace_id, seq, expires_at)
) partition by range (expires_at);
-- Includes the expiry. Without it, the planner would choose the primary key, and read the events of other types or actors too.
create index audit_event_type on audit_event (workspace_id, event_type, seq, expires_at);
create index audit_event_actor on audit_event (workspace_id, actor_id, seq, expires_at);
create table audit_event_later partition of audit_event default;
create index audit_event_later_expiry on audit_event_later (expires_at);
-- Events that never expire have their own partition, because creating a month's partition scans the default partition.
create table audit_event_forever partition of audit_event for values from ('infinity') to (maxvalue);

-- Consecutive events of a chain that retention dropped. The one at `from_seq` followed the hash `previous`; the one at `to_seq` had `hash`.
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

-- Partitions inherit row triggers, but not statement triggers: make_partition creates those.
create trigger append_only before update or delete on audit_event for each row execute function refuse_change('audit_event');
create trigger never_emptied before truncate on audit_event for each statement execute function refuse_change('audit_event');
create trigger never_emptied before truncate on audit_event_later for each statement execute function refuse_change('audit_event');
create trigger never_emptied before truncate on audit_event_forever for each statement execute function refuse_change('audit_event');
-- They fire whatever session_replication_role is. Partitions inherit this of the row trigger.
alter table audit_event enable always trigger append_only, enable always trigger never_emptied;
alter table audit_event_later enable always trigger never_emptied;
alter table audit_event_forever enable always trigger never_emptied;

-- A field in the input of the hash: its length in bytes of UTF-8, a colon and its text. Null is a dash. So different lists of fields
-- never give the same input.
create function audit_field(value text) returns text language sql immutable parallel safe as
  $$ select coalesce(octet_length(convert_to(value, 'UTF8')) || ':' || value, '-') $$;

-- A time in the input of the hash: in UTC, with microseconds.
create function audit_moment(at timestamptz) returns text language sql stable parallel safe as
  $$ select case when isfinite(at) then to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') else at::text end $$;

-- Appends an event to the chain of its workspace. Locks the head of the chain until the transaction ends. The hash is SHA-256 over the
-- fields, in the order below. The `previous` of the first event is 32 zero bytes, and its `previous_expires_at` is '-infinity'.
create function append_audit_event(
  of_workspace uuid, event uuid, type text, actor text, on_type text, on_id text, event_input text, event_output text
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
    select seq + 1 as seq, hash, expires_at into head from audit_chain where workspace_id = of_workspace for update;
    exit when found;
    insert into audit_chain (workspace_id, seq, hash, expires_at) values (of_workspace, 0, decode(repeat('00', 32), 'hex'), '-infinity')
      on conflict do nothing;
  end loop;
  new_hash := sha256(convert_to(concat(
    audit_field(encode(head.hash, 'hex')), audit_field(audit_moment(head.expires_at)), audit_field(of_workspace::text),
    audit_field(head.seq::text), audit_field(event::text), audit_field(type), audit_field(audit_moment(moment())), audit_field(actor),
    audit_field(on_type), audit_field(on_id), audit_field(event_input), audit_field(event_output), audit_field(audit_moment(expires))),
    'UTF8'));
  insert into audit_event (workspace_id, seq, id, event_type, occurred_at, actor_id, resource_type, resource_id, input, output,
    previous, previous_expires_at, hash, expires_at)
  values (of_workspace, head.seq, event, type, moment(), actor, on_type, on_id, event_input, event_output, head.hash, head.expires_at,
    new_hash, expires);
  update audit_chain set seq = head.seq, hash = new_hash, expires_at = expires where workspace_id = of_workspace;
end $$;
