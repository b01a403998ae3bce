-- In the order in which statements lock rows of them.
lock table run, run_step in access exclusive mode;

-- The execution that may add steps to the journal without a look at its job: the last one that began, under this lease. Each end of an execution sets it
-- null. Null: look.
alter table run add column open_execution integer;
alter table run add column open_lease_id bigint;

-- Nodes of an earlier version begin and end executions, too, without a word of it.
create function close_execution() returns trigger language plpgsql as $$
begin
  update tidemill.run set open_execution = null where workspace_id = new.workspace_id and id = new.id;
  return null;
end $$;
create trigger execution_changed after update of status, failures on run for each row
  when (old.open_execution = new.open_execution) execute function close_execution();

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
