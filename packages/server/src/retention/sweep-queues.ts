import { type Db, row, rows, sql, type WorkspaceId } from "#kernel";
import type { LaneId } from "#queues";
import { removeSchedulesOf } from "#schedules";

/** Rows of one statement. */
const CHUNK = 5_000;

/**
 * Deletes the jobs of deleted queues and their idempotency keys, then the queues. Schedules go with their queue; one that has any yet
 * was made in a workspace that was being deleted, and must make no more jobs. A queue's row stays for a minute, so that an enqueue that
 * was under way when it was deleted leaves nothing behind, and until its jobs are gone and its usage is folded, which keeps its name.
 */
export async function sweepDeletedQueuesAcrossWorkspaces(db: Db): Promise<void> {
  const deleted = await rows<{ workspace_id: WorkspaceId; id: LaneId }>(
    db,
    sql`select workspace_id, id from queue where deleted_at is not null order by id limit 100`,
  );
  for (const queue of deleted) {
    await removeSchedulesOf(db, queue.workspace_id, queue.id);
    while ((await deleteLive(db, queue.workspace_id, queue.id)) === CHUNK);
    while ((await deleteHistory(db, queue.workspace_id, queue.id)) === CHUNK);
    while ((await deleteKeys(db, queue.workspace_id, queue.id)) === CHUNK);
    await rows(db, sql`delete from tally where workspace_id = ${queue.workspace_id} and lane_id = ${queue.id}`);
    await rows(
      db,
      sql`
        delete from queue q where workspace_id = ${queue.workspace_id} and id = ${queue.id}
          and deleted_at < moment() - interval '1 minute'
          and not exists (select from job j where j.workspace_id = q.workspace_id and j.lane_id = q.id)
          and not exists (select from usage_delta u where u.workspace_id = q.workspace_id and u.lane_id = q.id)`,
    );
  }
}

/** What somebody moves just now is left to the next pass: he may wait for a key, whose holder waits for one of these. */
const deleteLive = async (db: Db, workspaceId: WorkspaceId, laneId: LaneId): Promise<number> =>
  (
    await row<{ jobs: number }>(
      db,
      sql`
        with gone as (
          delete from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = any(array(
            select id from job where workspace_id = ${workspaceId} and lane_id = ${laneId} limit ${CHUNK} for update skip locked))
          returning id
        )
        select count(*) as jobs from gone`,
    )
  )?.jobs ?? 0;

const deleteHistory = async (db: Db, workspaceId: WorkspaceId, laneId: LaneId): Promise<number> =>
  (
    await row<{ jobs: number }>(
      db,
      sql`
        with gone as (
          delete from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId} and id = any(array(
            select id from job_history where workspace_id = ${workspaceId} and lane_id = ${laneId} limit ${CHUNK}))
          returning id
        )
        select count(*) as jobs from gone`,
    )
  )?.jobs ?? 0;

const deleteKeys = async (db: Db, workspaceId: WorkspaceId, laneId: LaneId): Promise<number> =>
  (
    await row<{ keys: number }>(
      db,
      sql`
        with gone as (
          delete from idempotency_key where workspace_id = ${workspaceId} and lane_id = ${laneId} and key = any(array(
            select key from idempotency_key where workspace_id = ${workspaceId} and lane_id = ${laneId} limit ${CHUNK} for update))
          returning key
        )
        select count(*) as keys from gone`,
    )
  )?.keys ?? 0;
