-- What its code said of its progress last; JSON text.
alter table run add column progress text;

-- How often it was retried. Each retry numbers its journal anew.
alter table run add column retries integer not null default 0;

-- Until when nodes follow it, for readers of its events.
alter table run add column watched_until timestamptz;

-- Notifies all nodes of a change of a run that is followed. PostgreSQL sends it when the transaction commits.
create function notify_run_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('tidemill_wake', format('runChanged %s %s', old.workspace_id, old.id));
  return null;
end $$;

-- Every change of a run or its journal updates its row.
create trigger notify_changed after update on run for each row
  when (old.watched_until is not null and old.watched_until > moment() and new.watched_until = old.watched_until) execute function notify_run_changed();
create trigger notify_deleted after delete on run for each row
  when (old.watched_until is not null and old.watched_until > moment()) execute function notify_run_changed();

-- Whether the program can undo the step, once it has completed.
alter table run_step add column undoable boolean not null default false;

-- Of a wait that was cancelled: the place of that among the changes of the journal, where `seq` stays.
alter table run_step add column cancelled_seq integer;

-- The job that undoes the steps of a run that has ended. It has the run's id.
alter type job_kind add value 'undo';

select make_tenant_views();
