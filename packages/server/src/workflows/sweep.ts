import { type Db, rows, sql } from "#kernel";
import type { LaneKey } from "#lanes";

/** Runs in one statement, with their journals. */
const CHUNK = 500;

/** Deletes the runs of a deleted lane. Uses index run_lane. */
export async function sweepLaneRuns(db: Db, { workspaceId, laneId }: LaneKey): Promise<void> {
  for (;;) {
    const gone = await rows(
      db,
      sql`
        delete from run where workspace_id = ${workspaceId} and id = any(array(
          select id from run where workspace_id = ${workspaceId} and lane_id = ${laneId} order by id limit ${CHUNK} for update))
        returning id`,
    );
    if (gone.length < CHUNK) return;
  }
}

/** Deletes runs whose retention has ended, with their keys. Uses index run_expiry. */
export async function sweepExpiredRunsAcrossWorkspaces(db: Db): Promise<void> {
  for (;;) {
    const gone = await rows(
      db,
      sql`
        delete from run where ctid = any(array(
          select ctid from run where expires_at <= moment() order by expires_at limit ${CHUNK} for update skip locked))
        returning id`,
    );
    if (gone.length < CHUNK) return;
  }
}
