-- Makes the partition of the month that `day` lies in, unless it is there. Rows of that month that had to go to the default
-- partition, because their workspace keeps history longer than months are made ahead, move into it.
create function make_history_partition(day date) returns void language plpgsql as $$
declare
  first_day date := date_trunc('month', day);
  past_day  date := first_day + interval '1 month';
  name      text := 'job_history_' || to_char(first_day, 'YYYY_MM');
begin
  if to_regclass(format('%I.%I', current_schema(), name)) is not null then return; end if;
  execute format('create table %I (like job_history including all)', name);
  execute format(
    'with moved as (delete from job_history_later where expires_at >= %L and expires_at < %L returning *) insert into %I select * from moved',
    first_day, past_day, name);
  execute format('alter table job_history attach partition %I for values from (%L) to (%L)', name, first_day, past_day);
end $$;

-- Drops the partitions of months that ended before `day`. Answers their names.
create function drop_history_partitions(day date) returns setof text language plpgsql as $$
declare
  name text;
begin
  for name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'job_history'::regclass and c.relname ~ '^job_history_\d{4}_\d{2}$'
      and to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= day
  loop
    execute format('drop table %I', name);
    return next name;
  end loop;
end $$;
