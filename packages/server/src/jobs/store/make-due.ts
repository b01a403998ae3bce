import { type Db, type JobId, plainArray, rows, sql, type Timestamp } from "#kernel";
import type { LaneKey } from "#lanes";

/**
 * Makes jobs of runs due that wait, now or in `seconds`, for workers of a version; null: of any. Their logs of attempts begin anew. These
 * jobs have no concurrency keys. Returns when each is due. Uses the primary key.
 */
export const makeDue = async (
  tx: Db,
  { workspaceId, laneId }: LaneKey,
  ids: readonly JobId[],
  version: string | null,
  seconds = 0,
): Promise<Timestamp[]> =>
  (
    await rows<{ run_at: Timestamp }>(
      tx,
      sql`
        update job set attempts_log = '', run_at = moment() + ${seconds} * interval '1 second',
          state = case when ${seconds}::int > 0 then 'delayed' else 'waiting' end::job_state, code_version = ${version}
        where workspace_id = any(array[${workspaceId}::uuid]) and lane_id = ${laneId} and id = any(${plainArray(ids)}::uuid[])
          and state in ('waiting', 'delayed') and kind = 'run'
        returning run_at`,
    )
  ).map(({ run_at }) => run_at);
