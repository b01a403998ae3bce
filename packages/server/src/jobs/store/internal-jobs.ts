import { type Db, type Fragment, fragment, type JobId, plainArray, row, rows, sql, type Timestamp, textArray } from "#kernel";
import type { LaneKey } from "#lanes";
import type { JobKey } from "../job.ts";
import { keyColumns } from "./columns.ts";
import { COUNT_GONE, COUNT_RESCHEDULED } from "./counts.ts";
import { AMONG_DUE, AMONG_WAS, ASSIGN_SLOTS_OF_GONE, ASSIGN_SLOTS_OF_WAITING } from "./fragments.ts";

/** When a job that waits is due; null: now. */
export interface Due extends JobKey {
  readonly at: Timestamp | null;
}

/** Sets when jobs that wait are due. Their logs of attempts start empty again. Uses the primary key. */
export function setDueAcrossWorkspaces(tx: Db, jobs: readonly Due[]): Promise<unknown> {
  const { workspaceIds, laneIds, ids } = keyColumns(jobs);
  return rows(
    tx,
    sql`
      with due as (
        select * from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[], ${textArray(jobs.map((one) => one.at))}::timestamptz[])
          as d (workspace_id, lane_id, id, at)
      ), was as (
        select d.at, j.workspace_id, j.lane_id, j.id, j.state
        from due d
        join job j on j.workspace_id = any(array[d.workspace_id]) and ${AMONG_DUE} and j.lane_id = d.lane_id and j.id = d.id and j.state in ('waiting', 'delayed')
        for update of j
      ), moved as (
        update job j set attempts_log = '', run_at = coalesce(d.at, moment()),
          state = case when d.at > moment() then 'delayed' else 'waiting' end::job_state
        from was d
        where j.workspace_id = any(array[d.workspace_id]) and ${AMONG_WAS} and j.lane_id = d.lane_id and j.id = d.id
        returning j.workspace_id, j.lane_id, j.id, j.state, j.concurrency_key, d.state as was
      ), tallied as (
        ${COUNT_RESCHEDULED}
      )
      select ${ASSIGN_SLOTS_OF_WAITING} as assigned`,
  );
}

/**
 * Changes a claimed job to another kind, under the same claim. The current attempt becomes the first of `attempts`. Returns the job. If
 * nobody holds it, nothing changes and null is returned. Uses the primary key.
 */
export const changeKindOfHeld = (
  tx: Db,
  { workspaceId, laneId, id }: JobKey,
  kind: string,
  attempts: number,
): Promise<{ attempt: number } | null> =>
  row(
    tx,
    sql`
      update job set kind = ${kind}, attempts = ${attempts}, spared = attempt - 1, payload = '{}'
      where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id} and state = 'active'
      returning attempt`,
  );

/** A released job whose attempt counts as failed after all. */
export interface AttemptToCount extends JobKey {
  /** How long the next attempt waits. */
  readonly waitMs: number;
}

/** Counts attempts that were spared when their jobs were released, and delays the jobs. Returns when they are due. Uses the primary key. */
export async function countAttemptsAcrossWorkspaces(tx: Db, jobs: readonly AttemptToCount[]): Promise<Timestamp[]> {
  const { workspaceIds, laneIds, ids } = keyColumns(jobs);
  const moved = await rows<{ run_at: Timestamp }>(
    tx,
    sql`
      with due as (
        select * from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[], ${plainArray(jobs.map((one) => one.waitMs))}::float8[])
          as d (workspace_id, lane_id, id, wait_ms)
      ), was as (
        select d.wait_ms, j.workspace_id, j.lane_id, j.id, j.state
        from due d
        join job j on j.workspace_id = any(array[d.workspace_id]) and ${AMONG_DUE} and j.lane_id = d.lane_id and j.id = d.id and j.state in ('waiting', 'delayed')
        for update of j
      ), moved as (
        update job j set attempts_log = '', spared = j.spared - 1, state = 'delayed', run_at = moment() + d.wait_ms * interval '1 millisecond'
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

/** Whether a job is there that has not ended. Uses the primary key. */
export const hasJob = async (tx: Db, { workspaceId, laneId, id }: JobKey): Promise<boolean> =>
  (await rows(tx, sql`select from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}`)).length > 0;

/**
 * Deletes a job that leaves no record, even if it is claimed. Returns its attempt and the lease of its claim; null if there was no job.
 * Uses the primary key.
 */
export const removeUnrecorded = (
  tx: Db,
  { workspaceId, laneId, id }: JobKey,
): Promise<{ lease_id: number | null; attempt: number } | null> =>
  row(
    tx,
    sql`
      with gone as (
        delete from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = ${id}
        returning workspace_id, lane_id, id, state, concurrency_key, lease_id, attempt, null::job_state as final_state
      ), tallied as (
        ${COUNT_GONE}
      )
      select lease_id, attempt, ${ASSIGN_SLOTS_OF_GONE} as assigned from gone`,
  );

const UNLOCKED = fragment`for update skip locked`;
const ALL_IN_ORDER = fragment`order by id for update`;

const remove = (
  db: Db,
  { workspaceId, laneId }: LaneKey,
  ids: readonly JobId[],
  lock: Fragment,
): Promise<{ id: JobId; lease_id: number | null }[]> =>
  rows(
    db,
    sql`
      with gone as (
        delete from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = any(array(
          select id from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = any(${plainArray(ids)}::uuid[])
          ${lock}))
        returning workspace_id, lane_id, id, state, lease_id, null::job_state as final_state
      ), tallied as (
        ${COUNT_GONE}
      )
      select id, lease_id from gone`,
  );

/**
 * Deletes jobs of a lane that leave no record and have no concurrency key. It skips jobs that another transaction has locked, so it never
 * waits. Returns the deleted jobs, with the leases of their claims. Uses the primary key.
 */
export const removeUnlocked = (tx: Db, lane: LaneKey, ids: readonly JobId[]) => remove(tx, lane, ids, UNLOCKED);

/** Deletes such jobs, and waits for transactions that have locked some of them. It locks nothing but these jobs. Uses the primary key. */
export const removeWhenUnlocked = (db: Db, lane: LaneKey, ids: readonly JobId[]) => remove(db, lane, ids, ALL_IN_ORDER);
