-- A status and a lane are never null. The conditions say that these indexes serve statements that name one: without statistics, the planner
-- took them to look a run up by its id, in each status or lane of the workspace.
drop index run_status;
create index run_status on run (workspace_id, status, id desc) where status is not null;
drop index run_lane;
create index run_lane on run (workspace_id, lane_id, id desc) where lane_id is not null;
