import { type Db, fragment, row, rows, sql } from "#kernel";
import type { LaneKey } from "#lanes";
import { withinBytes } from "./bytes.ts";
import { COUNT_GONE } from "./counts.ts";

const WITHIN_BYTES = withinBytes(fragment`picked`, fragment`id`);

/** Whether there may be more to delete: CTE `gone` has fewer rows than CTE `picked`, or `picked` has as many as its limit. */
const MORE = fragment`(select count(*) from gone) < (select count(*) from picked) or (select count(*) from picked) = (select jobs from asked)`;

/**
 * Deletes some live jobs of a deleted lane. It skips locked jobs: waiting for them could deadlock over a concurrency key.
 *
 * @returns whether there may be more
 */
export const deleteLiveJobs = async (db: Db, { workspaceId, laneId }: LaneKey, limit: number): Promise<boolean> =>
  (
    await row<{ more: boolean }>(
      db,
      sql`
        with asked as (
          select ${limit}::int as jobs
        ), picked as (
          select id, octet_length(payload) as size from job where workspace_id = ${workspaceId} and lane_id = ${laneId}
          limit ${limit} for update skip locked
        ), gone as (
          delete from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = any(array(select id from ${WITHIN_BYTES} portion))
          returning workspace_id, lane_id, state, null::job_state as final_state
        ), tallied as (
          ${COUNT_GONE}
        )
        select ${MORE} as more`,
    )
  )?.more ?? false;

/** Deletes some finished jobs of a deleted lane. Returns whether there may be more. */
export const deleteFinishedJobs = async (db: Db, { workspaceId, laneId }: LaneKey, limit: number): Promise<boolean> =>
  (
    await row<{ more: boolean }>(
      db,
      sql`
        with asked as (
          select ${limit}::int as jobs
        ), picked as (
          select id, octet_length(payload) + coalesce(octet_length(result), 0) as size from job_history
          where workspace_id = ${workspaceId} and lane_id = ${laneId} limit ${limit}
        ), gone as (
          delete from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId}
            and id = any(array(select id from ${WITHIN_BYTES} portion))
          returning id
        )
        select ${MORE} as more`,
    )
  )?.more ?? false;

/** Deletes some idempotency keys of a deleted lane. */
export const deleteIdempotencyKeys = async (db: Db, { workspaceId, laneId }: LaneKey, limit: number): Promise<number> =>
  (
    await row<{ keys: number }>(
      db,
      sql`
        with gone as (
          delete from idempotency_key where workspace_id = ${workspaceId} and lane_id = ${laneId} and key = any(array(
            select key from idempotency_key where workspace_id = ${workspaceId} and lane_id = ${laneId} limit ${limit} for update))
          returning key
        )
        select count(*) as keys from gone`,
    )
  )?.keys ?? 0;

/** Deletes some idempotency keys of batches of a deleted lane. */
export const deleteBatchKeys = async (db: Db, { workspaceId, laneId }: LaneKey, limit: number): Promise<number> =>
  (
    await row<{ keys: number }>(
      db,
      sql`
        with gone as (
          delete from batch_key where workspace_id = ${workspaceId} and lane_id = ${laneId} and key = any(array(
            select key from batch_key where workspace_id = ${workspaceId} and lane_id = ${laneId} limit ${limit} for update))
          returning key
        )
        select count(*) as keys from gone`,
    )
  )?.keys ?? 0;

/** Deletes the counts of a deleted lane, and its metrics. Counts that are written later are deleted with the lane's row. */
export const deleteCounts = (db: Db, { workspaceId, laneId }: LaneKey): Promise<unknown> =>
  rows(
    db,
    sql`
      with unfolded as (
        delete from job_delta where workspace_id = ${workspaceId} and lane_id = ${laneId}
      ), counted as (
        delete from job_count where workspace_id = ${workspaceId} and lane_id = ${laneId}
      ), measured as (
        delete from job_metric where workspace_id = ${workspaceId} and lane_id = ${laneId}
      )
      delete from tally where workspace_id = ${workspaceId} and lane_id = ${laneId}`,
  );
