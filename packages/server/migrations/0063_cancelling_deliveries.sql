-- Whether pending deliveries of a webhook that was switched off are left to cancel: it may have a million of them, which are cancelled in
-- many transactions.
-- A node of an earlier version that switches it on again leaves it.
alter table webhook add column cancelling boolean not null default false;
create index webhook_cancelling on webhook (disabled_at) where cancelling and disabled_at is not null;

select make_tenant_views();
