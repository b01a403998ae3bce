-- Where nodes send the executions of a workflow, signed with the secret. Null: workers take them.
alter table workflow add column endpoint_url text, add column endpoint_secret text;
alter table workflow add check (endpoint_url is null or endpoint_secret is not null);

-- Tokens of executions that the node sends are derived from it.
alter table node add column secret bytea not null default uuid_send(gen_random_uuid()) check (length(secret) = 16);

create or replace view workflow_record as
  select w.workspace_id, w.id, l.name, w.version, l.attempts, l.backoff_delay_ms, l.concurrency, l.revision, w.created_at, w.updated_at,
    array(select e.name from workflow_event e where e.workspace_id = w.workspace_id and e.lane_id = w.id order by e.name) as events,
    w.hooks, s.cron, s.timezone, s.next_run_at, w.endpoint_url, w.endpoint_secret, l.attempt_timeout_seconds as endpoint_timeout
  from workflow w join lane l on l.workspace_id = w.workspace_id and l.id = w.id
    left join schedule s on s.workspace_id = w.workspace_id and s.lane_id = w.id
  where l.deleted_at is null;

select make_tenant_views();
