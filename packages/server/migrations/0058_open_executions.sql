-- In the order in which statements lock rows of them.
lock table run, run_step in access exclusive mode;

-- The last execution that began; never an earlier one. Under the lease, it may add steps to the journal without a look at its job. Each end of an
-- execution sets the lease null: then the job is looked at.
alter table run add column last_execution integer;
alter table run add column open_lease_id bigint;

-- Nodes of an earlier version begin and end executions, too, without setting these. Then nobody knows which execution is the last one, and no earlier
-- one may be taken for it.
create function close_execution() returns trigger language plpgsql as $$
begin
  update tidemill.run set open_lease_id = null, last_execution = last_execution + 1 where workspace_id = new.workspace_id and id = new.id;
  return null;
end $$;
create trigger execution_changed after update of status, failures on run for each row
  when (old.last_execution = new.last_execution and old.open_lease_id is not distinct from new.open_lease_id) execute function close_execution();

-- Each statement that inserts steps locks the run before, so that a foreign key would only look it up once more. It holds in tests
-- (test/harness/constraints.sql).
alter table run_step drop constraint run_step_workspace_id_run_id_fkey;
create function delete_steps() returns trigger language plpgsql as $$
begin
  delete from tidemill.run_step s using gone g where s.workspace_id = any(array[g.workspace_id]) and s.run_id = g.id;
  return null;
end $$;
create trigger steps_deleted after delete on run referencing old table as gone for each statement execute function delete_steps();

-- Without `of`, PostgreSQL would parse the condition in each statement that updates a run.
create or replace trigger announce_end after update of ended_at on run for each row
  when (new.ended_at is not null and old.ended_at is null) execute function announce_run_end();

select make_tenant_views();
