alter table workspace
  -- When its limits were last changed: what was accepted under the old ones may still be on its way into the count.
  add column limits_changed_at timestamptz not null default moment(),
  -- A deleted workspace is gone for callers at once; what it had is swept after it.
  add column deleted_at timestamptz;

select make_tenant_views();
