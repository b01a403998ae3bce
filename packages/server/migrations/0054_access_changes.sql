-- Changes of what keys may do, of the last hour: the poll of each node reads those that were committed since its last one. They belong to no workspace.
create table access_change (
  -- The transaction that changed it.
  xid               xid8 not null default pg_current_xact_id(),
  changed_workspace uuid not null,
  -- Null: the workspace itself has changed, and with it all of its keys.
  changed_key       uuid,
  at                timestamptz not null default clock_timestamp()
);
create index access_change_xid on access_change (xid);
create index access_change_at on access_change (at);

create function record_access_change() returns trigger language plpgsql set search_path = tidemill as $$
begin
  if tg_table_name = 'api_key' then
    insert into access_change (changed_workspace, changed_key) values (old.workspace_id, old.id);
  else
    insert into access_change (changed_workspace) values (old.id);
  end if;
  delete from access_change where ctid = any(array(
    select ctid from access_change where at < now() - interval '1 hour' order by at limit 100 for update skip locked));
  return null;
end $$;

create trigger access_changed after delete or update of workspace_id, role, queues, workflows, hash, expires_at, revoked_at on api_key
  for each row execute function record_access_change();
create trigger access_changed after update of plan, executions_per_month, requests_per_minute, deleted_at on workspace for each row
  when ((old.plan, old.executions_per_month, old.requests_per_minute, old.deleted_at)
    is distinct from (new.plan, new.executions_per_month, new.requests_per_minute, new.deleted_at))
  execute function record_access_change();
