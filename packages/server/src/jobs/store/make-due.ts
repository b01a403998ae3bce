import { type Db, plainArray, rows, sql, type Timestamp, textArray } from "#kernel";
import type { JobKey } from "../job.ts";
import { keyColumns } from "./columns.ts";
import { COUNT_RESCHEDULED } from "./counts.ts";
import { AMONG_DUE, AMONG_WAS } from "./fragments.ts";

/** A waiting job of a run, and the workers for which it becomes due. */
export interface DueForVersion extends JobKey {
  /** Null: workers of any version. */
  readonly version: string | null;
  /** In how many seconds the job is due. Default: now. */
  readonly seconds?: number;
}

/**
 * Makes waiting jobs of runs due, for workers of a version. Their logs of attempts start empty again. These jobs have no concurrency keys.
 * Returns when they are due. Uses the primary key.
 */
export async function makeDueAcrossWorkspaces(tx: Db, jobs: readonly DueForVersion[]): Promise<Timestamp[]> {
  const { workspaceIds, laneIds, ids } = keyColumns(jobs);
  const moved = await rows<{ run_at: Timestamp }>(
    tx,
    sql`
      with due as (
        select * from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[], ${textArray(jobs.map((one) => one.version))}::text[],
          ${plainArray(jobs.map(({ seconds = 0 }) => seconds))}::int[]) as d (workspace_id, lane_id, id, version, seconds)
      ), was as (
        select d.version, d.seconds, j.workspace_id, j.lane_id, j.id, j.state
        from due d
        join job j on j.workspace_id = any(array[d.workspace_id]) and ${AMONG_DUE} and j.lane_id = d.lane_id and j.id = d.id and j.state in ('waiting', 'delayed')
          and j.kind = 'run'
        for update of j
      ), moved as (
        update job j set attempts_log = '', run_at = moment() + d.seconds * interval '1 second',
          state = case when d.seconds > 0 then 'delayed' else 'waiting' end::job_state, code_version = d.version
        from was d
        where j.workspace_id = any(array[d.workspace_id]) and ${AMONG_WAS} and j.lane_id = d.lane_id and j.id = d.id
        returning j.workspace_id, j.lane_id, j.run_at, j.state, d.state as was
      ), tallied as (
        ${COUNT_RESCHEDULED}
      )
      select run_at from moved`,
  );
  return moved.map(({ run_at }) => run_at);
}
