-- The steps that have invoked a run: those that wait for it when it ends.
create index run_step_child on run_step (workspace_id, child_run_id) where child_run_id is not null;
