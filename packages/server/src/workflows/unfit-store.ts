import { type Db, plainArray, type RunId, row, rows, sql } from "#kernel";
import type { LaneKey } from "#lanes";
import type { RunKey, UnfitRow } from "./run.ts";

/** A version of which no worker has asked for runs for so long is gone. A worker asks every 30 s, which is written up to 30 s later. */
export const VERSION_GONE_SECONDS = 90;

/** A journal that did not fit the code. */
export interface UnfitRun extends LaneKey, RunKey, UnfitRow {}

/**
 * Records that the journal of a run that is locked did not fit, among the versions of which that is known. The run waits for other code,
 * unless workers of a version ask that has not tried it.
 *
 * @returns the newest such version, null if the run waits; and whether the version that it did not fit had tried it before
 */
export const recordUnfit = async (
  tx: Db,
  { workspaceId, laneId, id, step, reason, version }: UnfitRun,
): Promise<{ next: string | null; again: boolean }> =>
  (await row<{ next: string | null; again: boolean }>(
    tx,
    sql`
        with before as (
          select coalesce((select tried from run_unfit where workspace_id = ${workspaceId} and run_id = ${id}), '{}') as tried
        ), next as (
          select v.version from workflow_version v cross join before
          where v.workspace_id = ${workspaceId} and v.lane_id = ${laneId} and v.version not in ('', ${version})
            and v.last_asked_at > moment() - ${VERSION_GONE_SECONDS} * interval '1 second' and not v.version = any(before.tried)
          order by v.first_asked_at desc, v.version collate "C" desc limit 1
        ), recorded as (
          insert into run_unfit (workspace_id, run_id, lane_id, step, reason, version, tried, parked)
          select ${workspaceId}, ${id}, ${laneId}, ${step}, ${reason}, ${version}, array_append(array_remove(tried, ${version}), ${version}),
            not exists (select from next)
          from before
          on conflict (workspace_id, run_id) do update set step = excluded.step, reason = excluded.reason, version = excluded.version,
            tried = excluded.tried, parked = excluded.parked
        )
        select (select version from next) as next, ${version} = any(tried) as again from before`,
  )) ?? { next: null, again: false };

/** Why a run waits for other code. Null: it does not. Uses the primary key. */
export const findParked = (db: Db, { workspaceId, id }: RunKey): Promise<UnfitRow | null> =>
  row(db, sql`select step, reason, version from run_unfit where workspace_id = ${workspaceId} and run_id = ${id} and parked`);

/** Finds runs that wait for other code than they have tried. An empty version stands for any code without one. Uses index run_unfit_parked. */
export const findParkedUntried = async (db: Db, { workspaceId, laneId }: LaneKey, version: string, limit: number): Promise<RunId[]> =>
  (
    await rows<{ run_id: RunId }>(
      db,
      sql`
        select run_id from run_unfit
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and parked
          and case when ${version} = '' then version = '' else not ${version} = any(tried) end
        order by run_id limit ${limit}`,
    )
  ).map(({ run_id }) => run_id);

/** Lets runs go on, whose jobs are locked, that wait for other code. Returns those that have not ended. Uses the primary keys. */
export const unpark = async (tx: Db, { workspaceId, laneId }: LaneKey, ids: readonly RunId[]): Promise<RunId[]> => {
  const live = await rows<{ id: RunId }>(
    tx,
    sql`
      update run set status = 'running'
      where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[]) and status = 'waiting'
        and id in (select run_id from run_unfit where workspace_id = ${workspaceId} and lane_id = ${laneId} and run_id = any(${plainArray(ids)}::uuid[]) and parked)
      returning id`,
  );
  await rows(tx, sql`update run_unfit set parked = false where workspace_id = ${workspaceId} and run_id = any(${plainArray(ids)}::uuid[])`);
  return live.map(({ id }) => id);
};

/** Forgets which versions a run did not fit. Uses the primary key. */
export const forgetUnfit = (tx: Db, { workspaceId, id }: RunKey): Promise<unknown> =>
  rows(tx, sql`delete from run_unfit where workspace_id = ${workspaceId} and run_id = ${id}`);
