-- The lane of a webhook, and the jobs that deliver its events.
alter type lane_kind add value 'webhook';
alter type job_kind add value 'webhook';

-- The types of events that webhooks of a workspace want now. Events of other types and workspaces are not stored.
create table webhook_topic (
  workspace_id uuid not null references workspace on delete cascade,
  type         text not null,
  primary key (workspace_id, type)
);

-- Events for webhooks, stored by the statement or transaction of what they report. A loop makes deliveries of them, and deletes
-- them. There is no foreign key to the workspace, whose row every statement would then have to lock.
create table event_outbox (
  id           bigint generated always as identity primary key,
  workspace_id uuid not null,
  type         text not null,
  at           timestamptz not null default moment(),
  -- JSON text. Ids that it begins with are written `"job:<uuid>"` and `"run:<uuid>"`: to write them as the API shows them would take most
  -- of the time that an event takes.
  data         text not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
-- By workspace: workspaces take turns.
create index event_outbox_share on event_outbox (workspace_id, id);

-- The largest share of a workspace's quota, in percent, that an event has reported in the month.
alter table quota_month add column reported_percent smallint not null default 0;

create function show_moment(at timestamptz) returns text language sql stable parallel safe strict as
  $$ select to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- Whether a webhook of the workspace wants events of this type. Uses the primary key.
create function has_topic(workspace uuid, event_type text) returns boolean language sql stable as
  $$ select exists (select from webhook_topic t where t.workspace_id = workspace and t.type = event_type) $$;

-- Stores an event. The caller has found that there is a topic for it.
create function announce(workspace uuid, event_type text, event_data text) returns void language plpgsql as $$
begin
  insert into event_outbox (workspace_id, type, data) values (workspace, event_type, event_data);
end $$;

-- A job as events have it, as JSON text: as the API shows it, without its payload. What is stored as JSON is copied, not parsed: that takes
-- less time, keeps all digits, and cannot fail the statement of the job.
create function job_event(workspace uuid, lane bigint, id uuid, state job_state, tag text, priority smallint, concurrency_key text, idempotency_key text,
  attempt integer, attempts integer, run_at timestamptz, created_at timestamptz, started_at timestamptz, finished_at timestamptz, result text,
  schedule text, scheduled_for timestamptz, approval text, last_error text) returns text language sql stable as $$
  select left(json_build_object('id', 'job:' || id, 'queue', (select l.name from lane l where l.workspace_id = workspace and l.id = lane),
    'state', state, 'tag', tag, 'priority', priority, 'concurrencyKey', concurrency_key, 'idempotencyKey', idempotency_key,
    'attempt', attempt, 'attempts', attempts, 'run_at', show_moment(run_at), 'created_at', show_moment(created_at),
    'started_at', show_moment(started_at), 'finished_at', show_moment(finished_at), 'schedule', schedule,
    'scheduled_for', show_moment(scheduled_for))::text, -1) || ', "result": ' || coalesce(result, 'null')
    || ', "approval": ' || coalesce(approval, 'null') || ', "last_error": ' || coalesce(last_error, 'null') || '}'
$$;

-- A job began to wait for a decision: it was enqueued, or is held again after it was cancelled.
create function announce_pending() returns trigger language plpgsql as $$
begin
  if has_topic(new.workspace_id, 'approval.requested') then
    perform announce(new.workspace_id, 'approval.requested', job_event(new.workspace_id, new.lane_id, new.id, new.state, new.tag, new.priority,
      new.concurrency_key, new.idempotency_key, new.attempt, new.attempts + new.spared, new.run_at, new.created_at, new.started_at,
      new.finished_at, null, new.schedule, new.scheduled_for, new.approval, new.last_error));
  end if;
  return null;
end $$;
create trigger announce_pending after insert on job for each row when (new.state = 'pending_approval') execute function announce_pending();

-- A circuit opened, or closed because its endpoint works again or its settings changed. The circuits of webhooks are not announced: a
-- webhook that fails would get events about itself.
create function announce_circuit() returns trigger language plpgsql as $$
declare
  lane_of lane;
  circuit_of circuit := case tg_op when 'INSERT' then new else old end;
begin
  if not exists (select from webhook_topic t where t.workspace_id = circuit_of.workspace_id and t.type in ('circuit.opened', 'circuit.closed')) then
    return null;
  end if;
  select * into lane_of from lane l
  where l.workspace_id = circuit_of.workspace_id and l.id = circuit_of.lane_id and l.deleted_at is null and l.kind in ('queue', 'workflow');
  if not found then
    return null;
  end if;
  if tg_op = 'INSERT' and has_topic(new.workspace_id, 'circuit.opened') then
    perform announce(new.workspace_id, 'circuit.opened', left(json_build_object('kind', lane_of.kind, 'name', lane_of.name,
      'opened_at', show_moment(new.opened_at), 'next_probe_at', show_moment(new.probe_at))::text, -1) || ', "last_error": ' || new.last_error || '}');
  elsif tg_op = 'DELETE' and has_topic(old.workspace_id, 'circuit.closed') then
    perform announce(old.workspace_id, 'circuit.closed', json_build_object('kind', lane_of.kind, 'name', lane_of.name,
      'opened_at', show_moment(old.opened_at), 'closed_at', show_moment(moment()), 'failed_probes', old.probes)::text);
  end if;
  return null;
end $$;
create trigger announce_circuit after insert or delete on circuit for each row execute function announce_circuit();

-- A run as events have it, as JSON text: as lists of runs show it.
create function run_event(r run) returns text language sql stable as $$
  select left(json_build_object('runId', 'run:' || r.id, 'parentRunId', 'run:' || r.parent_run_id,
    'workflowId', (select l.name from lane l where l.workspace_id = r.workspace_id and l.id = r.lane_id), 'version', r.version, 'status', r.status,
    'attempt', r.failures + 1, 'attempts', r.attempts, 'idempotencyKey', r.idempotency_key,
    'nextAttemptAt', show_moment(r.next_attempt_at), 'createdAt', show_moment(r.created_at), 'startedAt', show_moment(r.started_at),
    'endedAt', show_moment(r.ended_at))::text, -1) || ', "trigger": ' || r.trigger || ', "error": ' || coalesce(r.error, 'null') || '}'
$$;

create function announce_run_end() returns trigger language plpgsql as $$
begin
  if has_topic(new.workspace_id, 'run.' || new.status) then
    perform announce(new.workspace_id, 'run.' || new.status, run_event(new));
  end if;
  return null;
end $$;
create trigger announce_end after update on run for each row when (new.ended_at is not null and old.ended_at is null) execute function announce_run_end();

create function announce_unfit() returns trigger language plpgsql as $$
begin
  if has_topic(new.workspace_id, 'run.waiting_for_code') then
    perform announce(new.workspace_id, 'run.waiting_for_code', left(run_event(r), -1) || ', "waitingFor": ' || json_build_array(json_build_object(
      'type', 'code', 'step', new.step, 'journalVersion', r.version, 'codeVersion', nullif(new.version, ''), 'reason', new.reason)) || '}')
    from run r where r.workspace_id = new.workspace_id and r.id = new.run_id;
  end if;
  return null;
end $$;
create trigger announce_parked after insert on run_unfit for each row when (new.parked) execute function announce_unfit();
create trigger announce_parked_again after update on run_unfit for each row when (new.parked and not old.parked) execute function announce_unfit();

create function announce_hook_error() returns trigger language plpgsql as $$
begin
  if has_topic(new.workspace_id, 'workflow.hook.errored') then
    perform announce(new.workspace_id, 'workflow.hook.errored', json_build_object('runId', 'run:' || r.id,
      'workflowId', (select l.name from lane l where l.workspace_id = r.workspace_id and l.id = r.lane_id),
      'hook', new.hook, 'message', new.message, 'occurredAt', show_moment(new.occurred_at))::text)
    from run r where r.workspace_id = new.workspace_id and r.id = new.run_id;
  end if;
  return null;
end $$;
create trigger announce_error after update on run_hook for each row when (new.message is not null and old.message is null)
  execute function announce_hook_error();

select make_tenant_views();
