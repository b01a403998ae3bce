-- Deletes the rows in the default partition of `parent` that have expired first, about 10,000: a month whose partition could not be created may
-- have more of them than one statement can delete.
create or replace function clear_expired(parent text) returns void language plpgsql as $$
declare
  later text := parent || '_later';
  until timestamptz;
begin
  execute format(
    'select max(expires_at) from (select expires_at from %I where expires_at <= moment() order by expires_at limit 10000) portion', later)
    into until;
  if until is null then return; end if;
  if parent <> 'audit_event' then
    execute format('delete from %I where expires_at <= $1', later) using until;
    return;
  end if;
  alter table audit_event_later disable trigger append_only;
  perform record_dropped(later, until);
  delete from audit_event_later where expires_at <= until;
  alter table audit_event_later enable always trigger append_only;
end $$;
