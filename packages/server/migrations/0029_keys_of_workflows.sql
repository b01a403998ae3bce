-- The workflows that a worker's key may execute and register, by name. A key with queues or workflows is bound to these. Null in both: all.
alter table api_key add column workflows text[] check (workflows is null or role = 'worker');

select make_tenant_views();
