-- Webhooks: endpoints of a workspace that get its events. Each has a lane, which has its name.
create table webhook (
  workspace_id          uuid not null,
  id                    bigint not null,
  url                   text not null,
  headers               text not null default '{}',
  events                text[] not null,
  secret                text not null,
  -- The secret before the last rotation, which signs besides until then.
  previous_secret       text,
  previous_secret_until timestamptz,
  -- When it was switched off, and whether the service did so because nothing arrived. Null: it is on.
  disabled_at           timestamptz,
  disabled_for          text check (disabled_for in ('failing', 'request')),
  -- The first attempt that failed since the last success. Null: the last one succeeded, or there was none.
  failing_since         timestamptz,
  last_success_at       timestamptz,
  created_at            timestamptz not null default moment(),
  updated_at            timestamptz not null default moment(),
  primary key (workspace_id, id),
  check ((disabled_at is null) = (disabled_for is null)),
  check ((previous_secret is null) = (previous_secret_until is null)),
  foreign key (workspace_id, id) references lane on delete cascade
);
create index webhook_failing on webhook (failing_since) where failing_since is not null and disabled_at is null;

-- Webhooks that are not deleted, with the settings of their lane.
create view webhook_record as
  select w.workspace_id, w.id, l.name, l.revision, w.url, w.headers, w.events, w.secret, w.previous_secret, w.previous_secret_until,
    w.disabled_at, w.disabled_for, w.failing_since, w.last_success_at, w.created_at, w.updated_at
  from webhook w join lane l on l.workspace_id = w.workspace_id and l.id = w.id
  where l.deleted_at is null;

-- Events that were sent to webhooks, with the body that they have in every delivery.
create table webhook_event (
  workspace_id uuid not null references workspace on delete cascade,
  id           uuid not null,
  type         text not null,
  body         text not null,
  created_at   timestamptz not null default moment(),
  expires_at   timestamptz not null,
  primary key (workspace_id, id)
);
create index webhook_event_expiry on webhook_event (expires_at) where expires_at <> 'infinity';

create type webhook_delivery_state as enum ('pending', 'delivered', 'failed', 'cancelled');

-- Deliveries of events to webhooks. A delivery that is pending has a job with its id.
create table webhook_delivery (
  workspace_id    uuid not null,
  lane_id         bigint not null,
  id              uuid not null,
  event_id        uuid not null,
  state           webhook_delivery_state not null default 'pending',
  -- Whether a caller asked for it: it repeats an earlier one, or is a test.
  requested       boolean not null default false,
  attempts        integer not null default 0,
  -- Of the last response. The body is cut, and without secrets.
  response_status integer,
  response_body   text,
  -- JSON text. Null: the last attempt succeeded, or there was none.
  last_error      text,
  -- One JSON object for each attempt that ended, separated by commas: the first ones.
  attempts_log    text not null default '',
  created_at      timestamptz not null default moment(),
  ended_at        timestamptz,
  primary key (workspace_id, id),
  check ((state = 'pending') = (ended_at is null)),
  foreign key (workspace_id, lane_id) references webhook on delete cascade,
  foreign key (workspace_id, event_id) references webhook_event on delete cascade
);
create index webhook_delivery_list on webhook_delivery (workspace_id, lane_id, id desc);
create index webhook_delivery_event on webhook_delivery (workspace_id, event_id);
-- The first column is the same in all rows, so that no plan uses this index for one workspace.
create index webhook_delivery_pending on webhook_delivery (state, created_at) where state = 'pending';
create index webhook_delivery_pending_of on webhook_delivery (workspace_id, lane_id) where state = 'pending';

select make_tenant_views();
