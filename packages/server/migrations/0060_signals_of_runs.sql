-- Partial, so that the planner takes it only where a run is asked for (docs/decisions/0053). Where it had planned for few signals, it took it to
-- look up a single signal, too, and read all signals of the workspace for each step that waits. The condition always holds.
drop index signal_run;
create index signal_run on signal (workspace_id, run_id) where run_id is not null;
