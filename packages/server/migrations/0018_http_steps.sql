-- The lane of a workflow's HTTP calls, which nodes make. It has the name of the workflow, and is made with the first call.
alter type lane_kind add value 'http';

-- The job of a call.
alter type job_kind add value 'http';

-- When a step that waits has got the outcome of its call. The journal has it from the next execution on.
alter table run_step add column answered_at timestamptz;
alter table run_step drop constraint run_step_type_check;
alter table run_step add constraint run_step_type_check check (type in ('run', 'value', 'sleep', 'event', 'signal', 'wait', 'http'));
alter table run_step add check (answered_at is null or type = 'http');

-- HTTP calls of steps that have no outcome yet. `id` is that of the call's job.
create table run_call (
  workspace_id uuid not null,
  id           uuid not null,
  -- Of the job.
  lane_id      bigint not null,
  run_id       uuid not null,
  -- Of the step.
  key          text not null,
  method       text not null,
  -- With its templates.
  url          text not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, run_id) references run on delete cascade
);
create index run_call_run on run_call (workspace_id, run_id);

select make_tenant_views();
