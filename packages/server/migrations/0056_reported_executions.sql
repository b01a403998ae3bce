-- In the order in which statements lock rows of them. The next migration changes them, too, in the same transaction.
lock table job, job_history, run, run_step in access exclusive mode;

-- The last execution whose outcome is stored as its program reported it, so that a repeated report of it is not taken for a late one. Null: none.
alter table run add column reported_execution integer;

select make_tenant_views();
