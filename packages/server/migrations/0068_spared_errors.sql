-- Runs that code without a version had tried before it was tried again from time to time.
update job j set run_at = moment() + interval '30 seconds' + random() * interval '5 minutes'
from run_unfit u
where u.parked and '' = any(u.tried) and j.workspace_id = u.workspace_id and j.lane_id = u.lane_id and j.id = u.run_id
  and j.state = 'delayed' and j.run_at = '9999-01-01T00:00:00Z';

-- A node of an earlier version leaves `waiting_since` null, as a run has it that was given to other code.
create or replace trigger announce_parked_again after update on run_unfit for each row
  when (new.parked and not old.parked and (new.waiting_since is null or new.waiting_since is distinct from old.waiting_since))
  execute function announce_unfit();

-- The error of the last execution of a run, if it used no attempt: `error` keeps that of the last attempt. JSON.
alter table run add column spared_error text;

select make_tenant_views();
