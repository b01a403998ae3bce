-- The name of the partition of `parent` for the month of `day`.
create function partition_name(parent text, day date) returns text language sql stable as
  $$select parent || '_' || to_char(day, 'YYYY_MM')$$;

-- Creates the partition of `parent` (job_history or audit_event) for the month of `day`, unless it exists. Partitions are created some
-- months ahead. Rows that expire later are stored in the default partition, and move into the new partition here.
create function make_partition(parent text, day date) returns void language plpgsql as $$
declare
  first_day date := date_trunc('month', day);
  past_day  date := first_day + interval '1 month';
  name      text := partition_name(parent, first_day);
  later     text := parent || '_later';
  crowded   boolean;
begin
  if to_regclass(format('%I.%I', current_schema(), name)) is not null then return; end if;
  execute format('create table %I (like %I including all)', name, parent);
  if parent = 'audit_event' then
    execute format('create trigger never_emptied before truncate on %I for each statement execute function refuse_change(%L)', name, parent);
    execute format('alter table %I enable always trigger never_emptied', name);
  end if;
  -- The parent first: an insert that waited for the default partition alone would not see that its row now belongs to the new one, and
  -- would be refused.
  execute format('lock table only %I in access exclusive mode', parent);
  -- No row may be added to the default partition between the check and the move. Attaching would lock it anyway.
  execute format('lock table %I in access exclusive mode', later);
  execute format('select exists (select from %I where expires_at >= %L and expires_at < %L)', later, first_day, past_day) into crowded;
  if crowded then
    if parent = 'audit_event' then alter table audit_event_later disable trigger append_only; end if;
    execute format(
      'with moved as (delete from %I where expires_at >= %L and expires_at < %L returning *) insert into %I select * from moved',
      later, first_day, past_day, name);
    if parent = 'audit_event' then alter table audit_event_later enable always trigger append_only; end if;
  end if;
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, first_day, past_day);
end $$;

-- Records which events of the chains are about to be dropped: those in `partition` that expire up to `until`.
create function record_dropped(partition text, until timestamptz) returns void language plpgsql as $$
begin
  execute format($record$
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
    on conflict do nothing $record$, partition) using until;
end $$;

-- The partitions of `parent` for months that ended by `day`.
create function past_partitions(parent text, day date) returns setof text language sql stable as $$
  select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = parent::regclass and c.relname ~ ('^' || parent || '_\d{4}_\d{2}$')
    and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= day
  order by c.relname
$$;

-- Drops the partitions of `parent` for months that ended by `day`, which must not be in the future. Returns their names.
create function drop_partitions(parent text, day date) returns setof text language plpgsql as $$
declare
  name text;
begin
  if day > moment()::date then raise exception 'the rows that expire before % have not all expired', day; end if;
  for name in select past_partitions(parent, day) loop
    if parent = 'audit_event' then perform record_dropped(name, 'infinity'); end if;
    execute format('drop table %I', name);
    return next name;
  end loop;
end $$;

-- Whether the default partition of `parent` holds expired rows. It does only if no partition was created for their month in time.
create function has_expired(parent text) returns boolean language plpgsql stable as $$
declare
  expired boolean;
begin
  execute format('select exists (select from %I where expires_at <= moment())', parent || '_later') into expired;
  return expired;
end $$;

-- Deletes expired rows in the default partition of `parent`.
create function clear_expired(parent text) returns void language plpgsql as $$
declare
  later text := parent || '_later';
begin
  if not has_expired(parent) then return; end if;
  if parent <> 'audit_event' then
    execute format('delete from %I where expires_at <= moment()', later);
    return;
  end if;
  alter table audit_event_later disable trigger append_only;
  perform record_dropped(later, moment());
  delete from audit_event_later where expires_at <= moment();
  alter table audit_event_later enable always trigger append_only;
end $$;
