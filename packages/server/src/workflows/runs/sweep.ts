import { lockJobsAcrossWorkspaces, setDueAcrossWorkspaces } from "#jobs";
import { type Db, fragment, plainArray, type RunId, row, rows, sql, type Transactional } from "#kernel";
import type { LaneKey } from "#lanes";
import { sweepSomeEventKeysAcrossWorkspaces } from "../events/event-store.ts";
import { findAwaitingParents } from "./parent.ts";

/** The maximum number of runs in one statement, with their journals. */
const CHUNK = 500;
/**
 * Columns of CTE `picked (…, steps, bytes)`, with window `so_far`, to select the runs up to the one with which a statement has enough
 * steps, or bytes of journals.
 */
const BEFORE = fragment`sum(steps) over so_far - steps as steps_before, sum(bytes) over so_far - bytes as bytes_before`;
const FITS = fragment`steps_before < 100000 and bytes_before < 67108864`;

/**
 * Deletes a portion of the runs of a deleted lane. Runs that wait for them resume: `onWoken` is called with their lanes.
 *
 * @returns whether there may be more
 */
export async function sweepLaneRuns(db: Transactional, lane: LaneKey, onWoken: (lanes: LaneKey[]) => void): Promise<boolean> {
  const { more, woken } = await db.transaction((tx) => deleteSomeOfLane(tx, lane));
  if (woken.length > 0) onWoken(woken);
  return more;
}

/** Locks the jobs of waiting runs before the runs that they wait for, as settles do. Returns whether there may be more runs. */
async function deleteSomeOfLane(tx: Db, lane: LaneKey): Promise<{ readonly more: boolean; readonly woken: LaneKey[] }> {
  const { workspaceId } = lane;
  const found = await findSomeOfLane(tx, lane);
  const ids = found.map(({ id }) => id);
  if (ids.length === 0) return { more: false, woken: [] };
  const children = ids.map((id) => ({ workspaceId, id }));
  const awaiting = await findAwaitingParents(tx, children);
  if (awaiting.length > 0) await lockJobsAcrossWorkspaces(tx, awaiting);
  const parents = awaiting.length > 0 ? await findAwaitingParents(tx, children, true) : [];
  await rows(tx, sql`delete from run where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[])`);
  if (parents.length > 0)
    await setDueAcrossWorkspaces(
      tx,
      parents.map((job) => ({ ...job, at: null })),
    );
  const laneIds = new Set(parents.map(({ laneId }) => laneId));
  return { more: mayHaveMore(found), woken: [...laneIds].map((laneId) => ({ workspaceId, laneId })) };
}

/**
 * Deletes keys of events whose retention has ended, unless one of their runs still exists.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export const sweepEventKeysAcrossWorkspaces = async (db: Db): Promise<number | undefined> =>
  (await sweepSomeEventKeysAcrossWorkspaces(db, CHUNK)) === CHUNK ? 0 : undefined;

/**
 * Deletes runs whose retention has ended, with their keys. Runs stay for another hour if their steps are still to be undone, or if the run
 * that waits for their outcome has not read it.
 *
 * @returns 0 when there may be more to do, in milliseconds
 */
export async function sweepExpiredRunsAcrossWorkspaces(db: Db): Promise<number | undefined> {
  const { due, left } = await deleteSomeExpiredAcrossWorkspaces(db);
  return due === CHUNK || left > 0 ? 0 : undefined;
}

/** A run that is deleted, and how many runs the statement has picked. */
interface SweptRun {
  readonly id: RunId;
  readonly picked: number;
}

/** Whether the statement that returned these runs may have left some: it picks a limited number, and takes fewer if their journals are large. */
const mayHaveMore = (swept: readonly SweptRun[]): boolean => {
  const picked = swept[0]?.picked ?? 0;
  return picked === CHUNK || swept.length < picked;
};

/** Uses index run_lane. */
const findSomeOfLane = (db: Db, { workspaceId, laneId }: LaneKey): Promise<SweptRun[]> =>
  rows(
    db,
    sql`
      with picked as (
        select id, last_seq as steps, journal_bytes as bytes from run where workspace_id = ${workspaceId} and lane_id = ${laneId}
        order by id limit ${CHUNK}
      )
      select id, (select count(*) from picked) as picked from (select *, ${BEFORE} from picked window so_far as (order by id)) sized where ${FITS}`,
  );

/**
 * Returns how many runs it checked, and how many expired runs it has left. Uses index run_expiry, run_step_child for runs that others have
 * invoked, and primary keys.
 */
const deleteSomeExpiredAcrossWorkspaces = async (db: Db): Promise<{ readonly due: number; readonly left: number }> =>
  (await row<{ due: number; left: number }>(
    db,
    sql`
      with due as (
        select ctid as at, workspace_id, id, expires_at, last_seq as steps, journal_bytes as bytes,
          exists (select from job j where j.workspace_id = any(array[run.workspace_id]) and j.lane_id = run.lane_id and j.id = run.id offset 0)
          or parent_run_id is not null and exists (
            select from run_step s
            cross join lateral (
              select from run p where p.workspace_id = any(array[s.workspace_id]) and p.id = s.run_id and p.ended_at is null offset 0) p
            where s.workspace_id = any(array[run.workspace_id]) and s.child_run_id = run.id and s.status = 'waiting' offset 0) as stays
        from run where expires_at <= moment() order by expires_at limit ${CHUNK} for update skip locked
      ), kept as (
        update run r set expires_at = moment() + interval '1 hour' from due
        where due.stays and r.workspace_id = any(array[due.workspace_id]) and r.id = due.id
      ), gone as (
        delete from run where ctid = any(array(
          select at from (select *, ${BEFORE} from due where not stays window so_far as (order by expires_at, at)) sized where ${FITS}))
        returning id
      )
      select (select count(*) from due) as due, (select count(*) from due where not stays) - (select count(*) from gone) as left`,
  )) ?? { due: 0, left: 0 };
