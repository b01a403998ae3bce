-- Runs that steps of other runs have started, and wait for.
alter table run add column parent_run_id uuid;
-- How many invocations lead to the run.
alter table run add column depth smallint not null default 0;
alter table run_step add column child_run_id uuid;

-- The contract has the types.
alter table run_step drop constraint run_step_type_check;

select make_tenant_views();
