-- A sleep or a wait that the program no longer waits for, because something else in a race came first.
alter type step_status add value 'cancelled';

-- How long the outputs and errors of its journal are, for limits. Bytes.
alter table run add column journal_bytes bigint not null default 0;
-- Keys of the steps that a retry of the failed run executes again. Null: the program did not say.
alter table run add column retry_steps text[];
-- The number of its last step. `steps` counts them.
alter table run add column last_seq integer not null default 0;
update run set last_seq = steps;

select make_tenant_views();
