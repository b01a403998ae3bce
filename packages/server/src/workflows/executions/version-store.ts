import { type Db, plainArray, row, rows, sql, type Timestamp, textArray } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import type { RunKey } from "../runs/run.ts";
import { VERSION_GONE_SECONDS } from "./unfit-store.ts";

/** A workflow, and a version of its code whose workers poll for runs. Empty: code without a version. */
export interface AskedVersion extends LaneKey {
  readonly version: string;
}

/** When workers of a version polled last. */
export interface VersionSeen extends AskedVersion {
  readonly seenAt: Timestamp;
}

/** A version whose workers poll for runs of a workflow. */
export interface AskingVersion {
  readonly laneId: LaneId;
  readonly version: string;
  /** When its workers polled first. Milliseconds since 1970. */
  readonly firstMs: number;
  /** How long ago its workers polled last. Milliseconds. */
  readonly agoMs: number;
}

/**
 * Records that workers of these versions poll for runs. A version that was gone counts as new. Returns all versions of these workflows that
 * are not gone. Uses the primary key.
 */
export const recordVersionsAcrossWorkspaces = (db: Db, asked: readonly VersionSeen[]): Promise<AskingVersion[]> =>
  rows(
    db,
    sql`
      with asked as (
        select * from unnest(${plainArray(asked.map((one) => one.workspaceId))}::uuid[], ${plainArray(asked.map((one) => one.laneId))}::bigint[],
          ${textArray(asked.map((one) => one.version))}::text[], ${textArray(asked.map((one) => one.seenAt))}::timestamptz[])
          a (workspace_id, lane_id, version, seen_at)
      ), recorded as (
        insert into workflow_version as v (workspace_id, lane_id, version, first_asked_at, last_asked_at)
        select a.workspace_id, a.lane_id, a.version, a.seen_at, a.seen_at from asked a
        join workflow w on w.workspace_id = any(array[a.workspace_id]) and w.id = a.lane_id
        order by a.workspace_id, a.lane_id, a.version
        on conflict (workspace_id, lane_id, version) do update set last_asked_at = greatest(v.last_asked_at, excluded.last_asked_at),
          first_asked_at = case when v.last_asked_at < excluded.last_asked_at - ${VERSION_GONE_SECONDS} * interval '1 second'
            then excluded.first_asked_at else v.first_asked_at end
        returning v.*
      ), alive as (
        select * from recorded
        union all
        select v.* from (select distinct workspace_id, lane_id from asked) a
        join workflow_version v on v.workspace_id = any(array[a.workspace_id]) and v.lane_id = a.lane_id
        where v.last_asked_at > moment() - ${VERSION_GONE_SECONDS} * interval '1 second'
          and not exists (select from recorded r where r.lane_id = v.lane_id and r.version = v.version)
      )
      select lane_id as "laneId", version, (extract(epoch from first_asked_at) * 1000)::float8 as "firstMs",
        (extract(epoch from moment() - last_asked_at) * 1000)::float8 as "agoMs" from alive`,
  );

/** Deletes versions of a workflow whose workers have not polled for a day. Uses the primary key. */
export const forgetOldVersions = (db: Db, { workspaceId, laneId }: LaneKey): Promise<unknown> =>
  rows(
    db,
    sql`delete from workflow_version where workspace_id = ${workspaceId} and lane_id = ${laneId} and last_asked_at < moment() - interval '1 day'`,
  );

/**
 * The version for whose workers a due run is kept, while workers of other versions poll: the only one whose `VersionFilter` lets the run
 * through. That is the run's own, or, while no worker of that one polls, the newest. Null: several do, or only code without a version.
 * Uses the primary keys.
 */
export const findKeptFor = async (db: Db, { workspaceId, laneId, id }: RunKey & LaneKey): Promise<string | null> =>
  (
    await row<{ version: string | null }>(
      db,
      sql`
        with alive as (
          select version, first_asked_at from workflow_version
          where workspace_id = ${workspaceId} and lane_id = ${laneId} and last_asked_at > moment() - ${VERSION_GONE_SECONDS} * interval '1 second'
        ), candidate as (
          select a.version, exists (select from alive o where o.version <> a.version and o.version <> '') as is_filtered,
            not exists (
              select from alive o
              where (o.first_asked_at, o.version collate "C") > (a.first_asked_at, a.version collate "C")) as is_newest
          from alive a
        )
        select nullif(min(c.version), '') as version from job j join candidate c
          on not c.is_filtered or c.version = j.code_version or c.is_newest and not exists (select from alive own where own.version = j.code_version)
        where j.workspace_id = ${workspaceId} and j.lane_id = ${laneId} and j.id = ${id} and j.state = 'waiting' and j.code_version is not null
        having count(*) = 1 and (select count(*) from alive) > 1`,
    )
  )?.version ?? null;

/** Which of these versions have waiting runs that have not tried them. Uses index run_unfit_parked. */
export const findParkedForAcrossWorkspaces = (db: Db, asked: readonly AskedVersion[]): Promise<AskedVersion[]> =>
  rows(
    db,
    sql`
      select a.workspace_id as "workspaceId", a.lane_id as "laneId", a.version
      from unnest(${plainArray(asked.map((one) => one.workspaceId))}::uuid[], ${plainArray(asked.map((one) => one.laneId))}::bigint[],
        ${textArray(asked.map((one) => one.version))}::text[]) a (workspace_id, lane_id, version)
      where a.version <> '' and exists (
        select from run_unfit u
        where u.workspace_id = any(array[a.workspace_id]) and u.lane_id = a.lane_id and u.parked and not a.version = any(u.tried) offset 0)`,
  );
