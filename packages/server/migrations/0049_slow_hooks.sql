-- When a hook was recorded as slow. It is recorded once.
alter table run_hook add column slow_at timestamptz;
-- Hooks that are being executed, by when they started.
create index job_hook_active on job (started_at) where kind = 'hook' and state = 'active';

select make_tenant_views();
