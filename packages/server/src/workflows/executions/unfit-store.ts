import { type Db, plainArray, type RunId, row, rows, sql, type Timestamp, textArray, type WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";
import { LIVE, type ParkedRow, type RunKey, type UnfitRow } from "../runs/run.ts";
import type { ExecutionOfRun } from "../steps/reported-store.ts";

/**
 * A version is gone if no worker with this version has polled for this long. A worker polls every 30 s, which is recorded up to 30 s later.
 */
export const VERSION_GONE_SECONDS = 90;

/** The due time of a job whose run waits for code of a version that has not tried it. */
export const NEVER = "9999-01-01T00:00:00.000Z" as Timestamp;

/** A journal that did not fit the code. */
export interface UnfitRun extends LaneKey, ExecutionOfRun, UnfitRow {}

/** What happens to a run whose journal did not fit. */
export interface RecordedUnfit {
  readonly id: RunId;
  /** The version that gets the run. Null: the run waits for other code. */
  readonly next: string | null;
  /** Whether the version that the journal did not fit had tried the run before. */
  readonly again: boolean;
  /** Whether code without a version has tried the run, or polls for runs. It may be other code the next time. */
  readonly mayChange: boolean;
  /** For how long the run has waited for code, though it was tried again meanwhile. Seconds. */
  readonly waitedSeconds: number;
}

/**
 * Records for runs, each given once and with its job locked, that their journals did not fit. A run waits for other code, unless workers of
 * a version poll that is known not to have tried it: then the newest such version gets it. Returns the runs that have not ended. Uses the
 * primary keys.
 */
export const recordUnfitAcrossWorkspaces = (tx: Db, unfit: readonly UnfitRun[]): Promise<RecordedUnfit[]> =>
  rows(
    tx,
    sql`
      with unfit as (
        select u.*, coalesce(f.tried, '{}') as before, n.version as next,
          coalesce(case when f.execution = (
            select reported_execution from run r where r.workspace_id = any(array[u.workspace_id]) and r.id = u.id
          ) then f.waiting_since end, moment()) as since
        from unnest(${plainArray(unfit.map((one) => one.workspaceId))}::uuid[], ${plainArray(unfit.map((one) => one.laneId))}::bigint[],
          ${plainArray(unfit.map((one) => one.id))}::uuid[], ${textArray(unfit.map((one) => one.step))}::text[],
          ${textArray(unfit.map((one) => one.reason))}::text[], ${textArray(unfit.map((one) => one.version))}::text[],
          ${plainArray(unfit.map((one) => one.execution))}::int[])
          as u (workspace_id, lane_id, id, step, reason, version, execution)
        left join run_unfit f on f.workspace_id = any(array[u.workspace_id]) and f.run_id = u.id
        left join lateral (
          select v.version from workflow_version v
          where v.workspace_id = any(array[u.workspace_id]) and v.lane_id = u.lane_id and v.version not in ('', u.version)
            and v.last_asked_at > moment() - ${VERSION_GONE_SECONDS} * interval '1 second' and not v.version = any(coalesce(f.tried, '{}'))
          order by v.first_asked_at desc, v.version collate "C" desc limit 1
        ) n on true
      ), moved as (
        update run r set status = case when u.next is null then 'waiting' else 'running' end::run_status,
          reported_execution = u.execution, spared_error = null, open_lease_id = null
        from unfit u where r.workspace_id = any(array[u.workspace_id]) and r.id = u.id and r.${LIVE}
        returning r.id
      ), recorded as (
        insert into run_unfit (workspace_id, run_id, lane_id, step, reason, version, tried, parked, waiting_since, execution)
        select workspace_id, id, lane_id, step, reason, version, array_append(array_remove(before, version), version), next is null,
          case when next is null then since end, execution
        from unfit where id in (select id from moved)
        on conflict (workspace_id, run_id) do update set step = excluded.step, reason = excluded.reason, version = excluded.version,
          tried = excluded.tried, parked = excluded.parked, waiting_since = excluded.waiting_since, execution = excluded.execution
      )
      select id, next, version = any(before) as again, '' = version or '' = any(before) or exists (
          select from workflow_version v
          where v.workspace_id = any(array[unfit.workspace_id]) and v.lane_id = unfit.lane_id and v.version = ''
            and v.last_asked_at > moment() - ${VERSION_GONE_SECONDS} * interval '1 second'
        ) as "mayChange",
        extract(epoch from moment() - since)::float8 as "waitedSeconds"
      from unfit where id in (select id from moved)`,
  );

/** Why a run waits for other code. Null: it does not, or a node of an earlier version has tried it again meanwhile. Uses the primary keys. */
export const findParked = (db: Db, { workspaceId, id }: RunKey): Promise<ParkedRow | null> =>
  row(
    db,
    sql`
      select u.step, u.reason, u.version, (
        select nullif(j.run_at, ${NEVER}::timestamptz) from job j
        where j.workspace_id = ${workspaceId} and j.lane_id = u.lane_id and j.id = u.run_id
      ) as retry_at
      from run_unfit u join run r on r.workspace_id = ${workspaceId} and r.id = u.run_id
      where u.workspace_id = ${workspaceId} and u.run_id = ${id} and u.parked and coalesce(u.execution = r.last_execution, true)`,
  );

/**
 * Finds runs that wait for other code and have not tried this version, in the order of their ids. An empty version stands for any code
 * without one: it may be other code if it was the last to try. Uses index run_unfit_parked.
 *
 * @param after the id before the first one
 */
export const findParkedUntried = async (
  db: Db,
  { workspaceId, laneId }: LaneKey,
  version: string,
  after: RunId,
  limit: number,
): Promise<RunId[]> =>
  (
    await rows<{ run_id: RunId }>(
      db,
      sql`
        select run_id from run_unfit
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and parked and run_id > ${after}
          and (not ${version} = any(tried) or ${version} = '' and version = '')
        order by run_id limit ${limit}`,
    )
  ).map(({ run_id }) => run_id);

/** Lets runs resume that wait for other code. They and their jobs are locked. Returns the runs that have not ended. Uses the primary keys. */
export const unpark = async (tx: Db, { workspaceId, laneId }: LaneKey, ids: readonly RunId[]): Promise<RunId[]> => {
  const live = await rows<{ id: RunId }>(
    tx,
    sql`
      update run set status = 'running'
      where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[]) and status = 'waiting'
        and id in (select run_id from run_unfit where workspace_id = ${workspaceId} and lane_id = ${laneId} and run_id = any(${plainArray(ids)}::uuid[]) and parked)
      returning id`,
  );
  await rows(
    tx,
    sql`update run_unfit set parked = false, waiting_since = null where workspace_id = ${workspaceId} and run_id = any(${plainArray(ids)}::uuid[])`,
  );
  return live.map(({ id }) => id);
};

/** Records that runs whose executions begin wait for code no longer. Uses the primary key: the comparison keeps the planner from index run_unfit_parked. */
export const endWaitForCode = (tx: Db, workspaceId: WorkspaceId, ids: readonly RunId[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      update run_unfit set parked = false
      where workspace_id = ${workspaceId} and run_id = any(${plainArray(ids)}::uuid[]) and parked is not distinct from true`,
  );

/** Deletes the records of which versions a run did not fit. Uses the primary key. */
export const forgetUnfit = (tx: Db, { workspaceId, id }: RunKey): Promise<unknown> =>
  rows(tx, sql`delete from run_unfit where workspace_id = ${workspaceId} and run_id = ${id}`);
