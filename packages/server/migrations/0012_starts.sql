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

-- The job of a lifecycle hook.
alter type job_kind add value 'hook';

-- Lifecycle hooks that the workflow's code has.
alter table workflow add column hooks text[] not null default '{}';

-- The attempts of its jobs before it ended last: those of a retry go on from here, so that no token of an earlier execution fits.
alter table run add column executions integer not null default 0;

-- Hooks of runs that have ended: those that have not fired yet, and those that failed. `id` is that of the hook's job.
create table run_hook (
  workspace_id uuid not null,
  id           uuid not null,
  run_id       uuid not null,
  hook         text not null check (hook in ('onSuccess', 'onFailure', 'onCancel')),
  -- Why it failed, and when. Null: it has not ended.
  message      text,
  occurred_at  timestamptz,
  primary key (workspace_id, id),
  check ((message is null) = (occurred_at is null)),
  foreign key (workspace_id, run_id) references run on delete cascade
);
create index run_hook_run on run_hook (workspace_id, run_id);

create or replace view workflow_record as
  select w.workspace_id, w.id, l.name, w.version, l.attempts, l.backoff_delay_ms, l.concurrency, l.revision, w.created_at, w.updated_at,
    array(select e.name from workflow_event e where e.workspace_id = w.workspace_id and e.lane_id = w.id order by e.name) as events,
    w.hooks
  from workflow w join lane l on l.workspace_id = w.workspace_id and l.id = w.id
  where l.deleted_at is null;

select make_tenant_views();
