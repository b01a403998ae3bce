import { type Db, type JobId, plainArray, rows, sql } from "#kernel";
import type { LaneKey } from "#lanes";

/**
 * Makes jobs of runs due that wait, for workers of a version; null: of any. Their logs of attempts begin anew. These jobs have no
 * concurrency keys. Uses the primary key.
 */
export const makeDue = (tx: Db, { workspaceId, laneId }: LaneKey, ids: readonly JobId[], version: string | null): Promise<unknown> =>
  rows(
    tx,
    sql`
      update job set attempts_log = '', run_at = moment(), state = 'waiting', code_version = ${version}
      where workspace_id = any(array[${workspaceId}::uuid]) and lane_id = ${laneId} and id = any(${plainArray(ids)}::uuid[])
        and state in ('waiting', 'delayed') and kind = 'run'`,
  );
