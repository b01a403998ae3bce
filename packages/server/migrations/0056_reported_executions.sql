-- The last execution whose outcome is stored as its program reported it, so that a repeated report of it is not taken for a late one. Null: none.
alter table run add column reported_execution integer;

select make_tenant_views();
