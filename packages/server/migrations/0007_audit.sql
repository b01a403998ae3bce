-- The head of a workspace's chain of audit events: its last sequence number and hash. Locking it is what puts events in order.
create table audit_chain (
  workspace_id uuid primary key,
  seq          bigint not null,
  hash         bytea not null check (length(hash) = 32)
);
insert into audit_chain (workspace_id, seq, hash) select id, 0, decode(repeat('00', 32), 'hex') from workspace;

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

create table job_history_forever (like job_history including all);
with forever as (delete from job_history_later where expires_at = 'infinity' returning *)
insert into job_history_forever select * from forever;
alter table job_history attach partition job_history_forever for values from ('infinity') to (maxvalue);

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

drop function make_history_partition(date);
drop function drop_history_partitions(date);

-- Makes the partition of `parent` (job_history or audit_event) for the month that `day` lies in, unless it is there. Rows of that
-- month that had to go to the default partition, because their workspace keeps them longer than months are made ahead, move into it.
create function make_partition(parent text, day date) returns void language plpgsql as $$
declare
  first_day date := date_trunc('month', day);
  past_day  date := first_day + interval '1 month';
  name      text := parent || '_' || to_char(first_day, 'YYYY_MM');
  later     text := parent || '_later';
  crowded   boolean;
begin
  if to_regclass(format('%I.%I', current_schema(), name)) is not null then return; end if;
  execute format('create table %I (like %I including all)', name, parent);
  if parent = 'audit_event' then
    execute format('create trigger never_emptied before truncate on %I for each statement execute function refuse_change(%L)', name, parent);
  end if;
  -- Nothing may come to the default partition between the look and the move; attaching would lock it anyway.
  execute format('lock table %I in access exclusive mode', later);
  execute format('select exists (select from %I where expires_at >= %L and expires_at < %L)', later, first_day, past_day) into crowded;
  if crowded then
    execute format('alter table %I disable trigger user', later);
    execute format(
      'with moved as (delete from %I where expires_at >= %L and expires_at < %L returning *) insert into %I select * from moved',
      later, first_day, past_day, name);
    execute format('alter table %I enable trigger user', later);
  end if;
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, first_day, past_day);
end $$;

-- Notes which stretches of the chains will be gone once the events of `partition` are that expire up to `until`.
create function note_dropped(partition text, until timestamptz) returns void language plpgsql as $$
begin
  execute format($note$
    with numbered as (
      select workspace_id, seq, seq - row_number() over (partition by workspace_id order by seq) as run from %1$I where expires_at <= $1
    ), stretch as (
      select workspace_id, min(seq) as from_seq, max(seq) as to_seq from numbered group by workspace_id, run
    )
    insert into audit_dropped (workspace_id, from_seq, to_seq, previous, hash, dropped_at)
    select s.workspace_id, from_seq, to_seq, first.previous, last.hash, moment()
    from stretch s
    join audit_chain c on c.workspace_id = s.workspace_id
    join %1$I first on first.workspace_id = s.workspace_id and first.seq = s.from_seq and first.expires_at <= $1
    join %1$I last on last.workspace_id = s.workspace_id and last.seq = s.to_seq and last.expires_at <= $1
    on conflict do nothing $note$, partition) using until;
end $$;

-- Drops the partitions of `parent` for months that ended before `day`, which is not to come. Answers their names.
create function drop_partitions(parent text, day date) returns setof text language plpgsql as $$
declare
  name text;
begin
  if day > moment()::date then raise exception 'what expires before % has not all expired', day; end if;
  for name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = parent::regclass and c.relname ~ ('^' || parent || '_\d{4}_\d{2}$')
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= day
    order by c.relname
  loop
    if parent = 'audit_event' then perform note_dropped(name, 'infinity'); end if;
    execute format('drop table %I', name);
    return next name;
  end loop;
end $$;

-- Deletes what has expired in the default partition of `parent`: its month passed while nobody looked, and was never made.
create function clear_expired(parent text) returns void language plpgsql as $$
declare
  later   text := parent || '_later';
  expired boolean;
begin
  execute format('select exists (select from %I where expires_at <= moment())', later) into expired;
  if not expired then return; end if;
  if parent <> 'audit_event' then
    execute format('delete from %I where expires_at <= moment()', later);
    return;
  end if;
  alter table audit_event_later disable trigger user;
  perform note_dropped(later, moment());
  delete from audit_event_later where expires_at <= moment();
  alter table audit_event_later enable trigger user;
end $$;

select make_tenant_views();
