import { type Db, rows, sql } from "#kernel";
import type { LaneKey } from "#lanes";
import { sweepSomeEventKeysAcrossWorkspaces } from "./event-store.ts";

/** Runs in one statement, with their journals. */
const CHUNK = 500;

/** Deletes the runs of a deleted lane. */
export async function sweepLaneRuns(db: Db, lane: LaneKey): Promise<void> {
  while ((await deleteSomeOfLane(db, lane)).length === CHUNK);
}

/** Deletes keys of events whose retention has ended, unless one of their runs is there. */
export async function sweepEventKeysAcrossWorkspaces(db: Db): Promise<void> {
  while ((await sweepSomeEventKeysAcrossWorkspaces(db, CHUNK)) === CHUNK);
}

/** Deletes runs whose retention has ended, with their keys. */
export async function sweepExpiredRunsAcrossWorkspaces(db: Db): Promise<void> {
  while ((await deleteSomeExpiredAcrossWorkspaces(db)).length === CHUNK);
}

/** Uses index run_lane. */
const deleteSomeOfLane = (db: Db, { workspaceId, laneId }: LaneKey): Promise<unknown[]> =>
  rows(
    db,
    sql`
      delete from run where workspace_id = ${workspaceId} and id = any(array(
        select id from run where workspace_id = ${workspaceId} and lane_id = ${laneId} order by id limit ${CHUNK} for update))
      returning id`,
  );

/** Uses index run_expiry. */
const deleteSomeExpiredAcrossWorkspaces = (db: Db): Promise<unknown[]> =>
  rows(
    db,
    sql`
      delete from run where ctid = any(array(
        select ctid from run where expires_at <= moment() order by expires_at limit ${CHUNK} for update skip locked))
      returning id`,
  );
