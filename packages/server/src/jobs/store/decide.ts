import type { Decision } from "@tidemill/contract";
import { type Db, row, sql } from "#kernel";
import type { JobKey, JobRow } from "../job.ts";
import { ANNOUNCE_APPROVED, ANNOUNCE_REJECTED } from "./announce.ts";
import { COUNT_APPROVED, COUNT_GONE } from "./counts.ts";
import { ARCHIVE_GONE, ASSIGN_SLOTS_OF_WAITING } from "./fragments.ts";

/** A decision by a caller, with the name and the comment that the caller gave. */
export type Ruling = Pick<Decision, "decision" | "by" | "comment">;

/**
 * Moves an approved job to `waiting`, or to `delayed` if it is not due. Its `run_at` becomes at least now, so that its age does not let it
 * overtake other jobs. Uses the primary key.
 */
export const approveJob = (db: Db, { workspaceId, laneId, id }: JobKey, { by, comment }: Ruling): Promise<JobRow | null> =>
  row(
    db,
    sql`
      with moved as (
        update job set state = case when run_at > moment() then 'delayed' else 'waiting' end::job_state, run_at = greatest(run_at, moment()),
          decide_at = null, approval = show_decision('approved', ${by}, ${comment})
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'pending_approval'
        returning *
      ), tallied as (
        ${COUNT_APPROVED}
      )
      select moved.*, null as result, ${ANNOUNCE_APPROVED} as announced, ${ASSIGN_SLOTS_OF_WAITING} as assigned from moved`,
  );

/** Moves a rejected job to history. Uses the primary key. */
export const rejectJob = (db: Db, { workspaceId, laneId, id }: JobKey, { by, comment }: Ruling): Promise<JobRow | null> =>
  row(
    db,
    sql`
      with gone as (
        delete from job
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'pending_approval'
        returning *, 'rejected'::job_state as final_state, attempts_log as final_log,
          show_decision('rejected', ${by}, ${comment}) as final_approval, null::text as result
      ), tallied as (
        ${COUNT_GONE}
      ), archived as (
        ${ARCHIVE_GONE}
        returning *
      )
      select archived.*, ${ANNOUNCE_REJECTED} as announced from archived`,
  );
