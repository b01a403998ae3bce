-- A sleep or a wait that the program no longer waits for, because something else in a race came first.
alter type step_status add value 'cancelled';

-- How long the outputs and errors of its journal are, for limits. Bytes.
alter table run add column journal_bytes bigint not null default 0;
-- Keys of the steps that a retry of the failed run executes again. Null: the program did not say.
alter table run add column retry_forgets text[];

select make_tenant_views();
