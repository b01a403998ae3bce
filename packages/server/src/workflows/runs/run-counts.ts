import { fragment } from "#kernel";

/*
 * Parts of statements that count how many runs have a status, where a trigger would take too long. The row of the run says so in its column
 * `count_mark`: then the triggers of `run` leave the change out (migration 0069).
 */

/** Runs that were inserted, from CTE `started (workspace_id, lane_id, status)`. */
export const COUNT_STARTED_RUNS = fragment`
  insert into run_delta (workspace_id, lane_id, status, runs)
  select workspace_id, lane_id, status, count(*) from started group by workspace_id, lane_id, status`;

/** The same of one run. */
export const COUNT_STARTED_RUN_ALONE = fragment`
  insert into run_delta (workspace_id, lane_id, status, runs) select workspace_id, lane_id, status, 1 from started`;

/** Runs that have completed, from CTE `ended (workspace_id, lane_id, status)` with the status before. */
export const COUNT_COMPLETED_RUNS = fragment`
  insert into run_delta (workspace_id, lane_id, status, runs)
  select workspace_id, lane_id, status, -count(*) from ended group by workspace_id, lane_id, status
  union all
  select workspace_id, lane_id, 'completed', count(*) from ended group by workspace_id, lane_id`;

/** The same of one run. */
export const COUNT_COMPLETED_RUN_ALONE = fragment`
  insert into run_delta (workspace_id, lane_id, status, runs)
  select workspace_id, lane_id, status, -1 from ended
  union all
  select workspace_id, lane_id, 'completed', 1 from ended`;
