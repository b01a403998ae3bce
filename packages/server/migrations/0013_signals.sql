-- Signals that runs have registered. An id belongs to one run until that has ended; then another run may take it.
create table signal (
  workspace_id uuid not null,
  id           text not null,
  run_id       uuid not null,
  -- Whether a step of its own has registered it, so that it outlasts a wait that timed out.
  registered   boolean not null,
  -- JSON text. Null: not completed.
  payload      text,
  completed_at timestamptz,
  -- Whether a wait has returned the payload.
  consumed     boolean not null default false,
  primary key (workspace_id, id),
  check ((payload is null) = (completed_at is null)),
  check (payload is not null or not consumed),
  foreign key (workspace_id, run_id) references run on delete cascade
);
create index signal_run on signal (workspace_id, run_id);

-- The signal that a step waits for.
alter table run_step add column signal text;
alter table run_step drop constraint run_step_type_check;
alter table run_step add constraint run_step_type_check check (type in ('run', 'value', 'sleep', 'event', 'signal', 'wait'));
alter table run_step add check (type <> 'wait' or signal is not null);

select make_tenant_views();
