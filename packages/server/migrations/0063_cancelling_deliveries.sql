-- Whether pending deliveries of a webhook that was switched off are left to cancel: it may have a million of them, which are cancelled in
-- many transactions.
alter table webhook add column cancelling boolean not null default false check (not cancelling or disabled_at is not null);
create index webhook_cancelling on webhook (disabled_at) where cancelling;

select make_tenant_views();
