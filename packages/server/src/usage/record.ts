import { fragment } from "#kernel";

/*
 * Parts of statements that accept or settle jobs. Usage is appended in the same statement, one row per lane, and folded later.
 */

/** Records accepted executions, from CTE `accepted (workspace_id, lane_id, jobs, schedules)`. */
export const RECORD_EXECUTIONS = fragment`
  insert into usage_delta (workspace_id, lane_id, at, jobs, schedules) select workspace_id, lane_id, moment(), jobs, schedules from accepted`;

/** Records started runs, from CTE `started (workspace_id, lane_id)`. */
export const RECORD_RUNS = fragment`
  insert into usage_delta (workspace_id, lane_id, at, workflows) select workspace_id, lane_id, moment(), 1 from started`;

/** Records attempts that succeeded, from CTE `counted (workspace_id, lane_id, jobs)`. */
export const RECORD_SUCCEEDED_ATTEMPTS = fragment`
  insert into usage_delta (workspace_id, lane_id, at, succeeded) select workspace_id, lane_id, moment(), jobs from counted`;

/** Records attempts that failed and count, from CTE `moved (workspace_id, lane_id, spared, recorded)`. */
export const RECORD_FAILED_ATTEMPTS = fragment`
  insert into usage_delta (workspace_id, lane_id, at, failed)
  select workspace_id, lane_id, moment(), count(*) from moved where recorded and not spared group by workspace_id, lane_id`;
