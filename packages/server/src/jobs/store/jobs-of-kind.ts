import { type Db, row, rows, sql, type Timestamp } from "#kernel";
import type { JobKey } from "../job.ts";
import { ASSIGN_SLOTS_OF_GONE, ASSIGN_SLOTS_OF_WAITING } from "./fragments.ts";

/** Sets when a job that waits is due; null: now. Its log of attempts begins anew. Uses the primary key. */
export const setDue = (tx: Db, { workspaceId, laneId, id }: JobKey, at: Timestamp | null): Promise<unknown> =>
  rows(
    tx,
    sql`
      with moved as (
        update job set attempts_log = '', run_at = coalesce(${at}::timestamptz, moment()),
          state = case when ${at}::timestamptz > moment() then 'delayed' else 'waiting' end::job_state
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state in ('waiting', 'delayed')
        returning workspace_id, lane_id, id, state, concurrency_key
      )
      select ${ASSIGN_SLOTS_OF_WAITING} as assigned`,
  );

/** Deletes a job that leaves no record, also if it is claimed. Returns its attempt and the lease of its claim; null if there was no job. Uses the primary key. */
export const removeUnrecorded = (
  tx: Db,
  { workspaceId, laneId, id }: JobKey,
): Promise<{ lease_id: number | null; attempt: number } | null> =>
  row(
    tx,
    sql`
      with gone as (
        delete from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
        returning workspace_id, lane_id, id, concurrency_key, lease_id, attempt
      )
      select lease_id, attempt, ${ASSIGN_SLOTS_OF_GONE} as assigned from gone`,
  );
