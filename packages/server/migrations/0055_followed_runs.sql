-- PostgreSQL parses the body of `moment()` again in each statement that updates a run, to put it into the condition of a trigger. So only the
-- function asks for the time, which is called for runs that are or were followed.
create or replace function notify_run_changed() returns trigger language plpgsql as $$
begin
  if old.watched_until > tidemill.moment() and (tg_op = 'DELETE' or new.watched_until = old.watched_until) then
    perform pg_notify('tidemill_wake', format('runChanged %s %s', old.workspace_id, old.id));
  end if;
  return null;
end $$;

-- Replaced, not dropped: that would wait for a dump of the database, and other statements for it.
create or replace trigger notify_changed after update on run for each row when (old.watched_until is not null) execute function notify_run_changed();
create or replace trigger notify_deleted after delete on run for each row when (old.watched_until is not null) execute function notify_run_changed();
