import { lockJobsAcrossWorkspaces, setDueAcrossWorkspaces } from "#jobs";
import { type Db, fragment, plainArray, type RunId, rows, sql, type Transactional } from "#kernel";
import type { LaneKey } from "#lanes";
import { sweepSomeEventKeysAcrossWorkspaces } from "./event-store.ts";
import { findAwaitingParents } from "./parent.ts";

/** Runs in one statement, with their journals. */
const CHUNK = 500;
/** Of CTE `picked (…, steps, bytes)`, with window `so_far`: those up to the one with which a statement has enough steps, or bytes of journals. */
const BEFORE = fragment`sum(steps) over so_far - steps as steps_before, sum(bytes) over so_far - bytes as bytes_before`;
const FITS = fragment`steps_before < 100000 and bytes_before < 67108864`;

/** Deletes the runs of a deleted lane. Runs that wait for them go on: `onWoken` is called with their lanes. */
export async function sweepLaneRuns(db: Transactional, lane: LaneKey, onWoken: (lanes: LaneKey[]) => void): Promise<void> {
  for (;;) {
    const { deleted, woken } = await db.transaction((tx) => deleteSomeOfLane(tx, lane));
    if (woken.length > 0) onWoken(woken);
    // A statement deletes fewer runs if their journals are large.
    if (deleted === 0) return;
  }
}

/** Locks the jobs of waiting runs before the runs that they wait for, as settles do. Returns how many runs were deleted. */
async function deleteSomeOfLane(tx: Db, lane: LaneKey): Promise<{ readonly deleted: number; readonly woken: LaneKey[] }> {
  const { workspaceId } = lane;
  const ids = await findSomeOfLane(tx, lane);
  if (ids.length === 0) return { deleted: 0, woken: [] };
  const parents = await findAwaitingParents(
    tx,
    ids.map((id) => ({ workspaceId, id })),
  );
  if (parents.length > 0) await lockJobsAcrossWorkspaces(tx, parents);
  await rows(tx, sql`delete from run where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[])`);
  if (parents.length > 0)
    await setDueAcrossWorkspaces(
      tx,
      parents.map((job) => ({ ...job, at: null })),
    );
  const laneIds = new Set(parents.map(({ laneId }) => laneId));
  return { deleted: ids.length, woken: [...laneIds].map((laneId) => ({ workspaceId, laneId })) };
}

/** Deletes keys of events whose retention has ended, unless one of their runs is there. */
export async function sweepEventKeysAcrossWorkspaces(db: Db): Promise<void> {
  while ((await sweepSomeEventKeysAcrossWorkspaces(db, CHUNK)) === CHUNK);
}

/** Deletes runs whose retention has ended, with their keys. */
export async function sweepExpiredRunsAcrossWorkspaces(db: Db): Promise<void> {
  while ((await deleteSomeExpiredAcrossWorkspaces(db)).length > 0);
}

/** Uses index run_lane. */
const findSomeOfLane = async (db: Db, { workspaceId, laneId }: LaneKey): Promise<RunId[]> =>
  (
    await rows<{ id: RunId }>(
      db,
      sql`
        with picked as (
          select id, last_seq as steps, journal_bytes as bytes from run where workspace_id = ${workspaceId} and lane_id = ${laneId}
          order by id limit ${CHUNK}
        )
        select id from (select *, ${BEFORE} from picked window so_far as (order by id)) picked where ${FITS}`,
    )
  ).map(({ id }) => id);

/** Uses index run_expiry. */
const deleteSomeExpiredAcrossWorkspaces = (db: Db): Promise<unknown[]> =>
  rows(
    db,
    sql`
      with picked as (
        select ctid as at, expires_at, last_seq as steps, journal_bytes as bytes from run where expires_at <= moment()
        order by expires_at limit ${CHUNK} for update skip locked
      )
      delete from run where ctid = any(array(
        select at from (select *, ${BEFORE} from picked window so_far as (order by expires_at, at)) picked where ${FITS}))
      returning id`,
  );
