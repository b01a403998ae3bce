-- The workspace that a session works for. Null, and so equal to no workspace, unless it was set.
create function tenant_workspace() returns uuid language sql stable parallel safe as
  $$ select nullif(current_setting('tidemill.workspace_id', true), '')::uuid $$;

-- Creates a view of each table and view with rows of workspaces, which shows only those of the session's workspace. The views are in a
-- schema that tenants' sessions search first, so a statement without a condition on the workspace cannot read or change another's rows.
-- A view keeps the columns that its table had, so a migration that changes such a table must end with a call of this function.
create function make_tenant_views() returns void language plpgsql as $$
declare
  relation record;
begin
  set local client_min_messages = warning;
  drop schema if exists tidemill_tenant cascade;
  create schema tidemill_tenant;
  for relation in
    select c.relname as name, a.attname as owner, case c.relkind when 'v' then '' else 'with check option' end as writes
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and not a.attisdropped and a.attname = case c.relname when 'workspace' then 'id' else 'workspace_id' end
    where c.relnamespace = 'tidemill'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
  loop
    execute format('create view tidemill_tenant.%I as select * from tidemill.%I where %I = tidemill.tenant_workspace() %s',
      relation.name, relation.name, relation.owner, relation.writes);
  end loop;
end $$;

select make_tenant_views();
