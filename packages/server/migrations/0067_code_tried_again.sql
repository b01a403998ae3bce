-- Since when the run waits for code, while only time has let it try again. Null: it was given to other code since.
alter table run_unfit add column waiting_since timestamptz;
-- The execution whose code the journal did not fit last. If a later one has reported an outcome, the run has gone on since.
alter table run_unfit add column execution integer;

-- A run that was tried again and does not fit again says nothing new.
create or replace trigger announce_parked_again after update on run_unfit for each row
  when (new.parked and not old.parked and new.waiting_since is distinct from old.waiting_since) execute function announce_unfit();

select make_tenant_views();
