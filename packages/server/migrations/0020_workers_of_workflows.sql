-- The workflows that a worker asked for last.
alter table worker add column workflows text[] not null default '{}';

select make_tenant_views();
