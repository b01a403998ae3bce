-- The values that a secret had before, encrypted with its data key. A job that got one of them may still run: what is reported of it is
-- searched for them. Null when none are kept.
alter table secret add column former bytea;
-- When they are removed.
alter table secret add column former_until timestamptz;
-- The values that it had before then are not kept any more. Null: none is missing.
alter table secret add column former_since timestamptz;
-- `updated_at` of the last change by a node that keeps former values. One of an earlier version leaves it as it is.
alter table secret add column former_as_of timestamptz;
create index secret_former_until on secret (former_until) where former_until is not null;

select make_tenant_views();
