-- Names of events that start runs of a workflow.
create table workflow_event (
  workspace_id uuid not null,
  name         text not null,
  lane_id      bigint not null,
  primary key (workspace_id, name, lane_id),
  foreign key (workspace_id, lane_id) references workflow on delete cascade
);
create index workflow_event_lane on workflow_event (workspace_id, lane_id);

-- Names of events that were sent, so that an event that is sent again starts no second runs. A key lasts at least as long as runs do, and
-- as long as one of its runs is there.
create table event_key (
  workspace_id uuid not null references workspace on delete cascade,
  key          text not null,
  event_id     uuid not null,
  -- Of what was sent: SHA-256.
  fingerprint  text not null,
  run_ids      uuid[] not null,
  expires_at   timestamptz not null,
  primary key (workspace_id, key)
);
create index event_key_expiry on event_key (expires_at);

alter table run_step drop constraint run_step_type_check;
alter table run_step add constraint run_step_type_check check (type in ('run', 'value', 'sleep', 'event'));

create or replace view workflow_record as
  select w.workspace_id, w.id, l.name, w.version, l.attempts, l.backoff_delay_ms, l.concurrency, l.revision, w.created_at, w.updated_at,
    array(select e.name from workflow_event e where e.workspace_id = w.workspace_id and e.lane_id = w.id order by e.name) as events
  from workflow w join lane l on l.workspace_id = w.workspace_id and l.id = w.id
  where l.deleted_at is null;

select make_tenant_views();
