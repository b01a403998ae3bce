import { type Db, type Fragment, fragment, plainArray, row, rows, sql, type WorkspaceId } from "#kernel";
import type { WhichLanes } from "./failed-lanes.ts";
import type { LaneId, LaneKey, LaneKind, LaneSettings } from "./lane.ts";

/** Creates a lane. Returns null when the workspace already has one of that kind and name. Uses index lane_name. */
export const insertLane = (
  db: Db,
  workspaceId: WorkspaceId,
  kind: LaneKind,
  name: string,
  settings: LaneSettings,
): Promise<{ id: LaneId } | null> =>
  row(
    db,
    sql`
      insert into lane (workspace_id, kind, name, served, paused, concurrency, concurrency_per_key, rate_max, rate_seconds, attempts,
        backoff_delay_ms, attempt_timeout_seconds)
      values (${workspaceId}, ${kind}, ${name}, coalesce(${settings.served}::lane_service, 'none'), coalesce(${settings.paused}::boolean, false),
        ${settings.concurrency}, coalesce(${settings.concurrencyPerKey}::int, 1), ${settings.rateMax}, ${settings.rateSeconds},
        coalesce(${settings.attempts}::int, 3), coalesce(${settings.backoffDelayMs}::int, 1000),
        coalesce(${settings.attemptTimeoutSeconds}::int, 30))
      on conflict (workspace_id, kind, name) where deleted_at is null do nothing
      returning id`,
  );

/** Changes the given settings and raises the revision. A new limit per key starts the reassignment of all slots. Uses the primary key. */
export const updateLane = (db: Db, { workspaceId, laneId }: LaneKey, settings: LaneSettings): Promise<unknown> =>
  rows(
    db,
    sql`
      update lane set
        served = coalesce(${settings.served}::lane_service, served),
        paused = coalesce(${settings.paused}::boolean, paused),
        concurrency = case when ${settings.concurrency !== undefined} then ${settings.concurrency} else concurrency end,
        concurrency_per_key = coalesce(${settings.concurrencyPerKey}::int, concurrency_per_key),
        reassign_after_key = case when ${settings.concurrencyPerKey} <> concurrency_per_key then '' else reassign_after_key end,
        rate_max = case when ${settings.rateMax !== undefined} then ${settings.rateMax} else rate_max end,
        rate_seconds = case when ${settings.rateSeconds !== undefined} then ${settings.rateSeconds} else rate_seconds end,
        attempts = coalesce(${settings.attempts}::int, attempts),
        backoff_delay_ms = coalesce(${settings.backoffDelayMs}::int, backoff_delay_ms),
        attempt_timeout_seconds = coalesce(${settings.attemptTimeoutSeconds}::int, attempt_timeout_seconds),
        revision = revision + 1
      where workspace_id = ${workspaceId} and id = ${laneId}`,
  );

/** Finds a lane by kind and name. Uses index lane_name. */
export const findLane = (db: Db, workspaceId: WorkspaceId, kind: LaneKind, name: string): Promise<{ id: LaneId } | null> =>
  row(
    db,
    sql`select id from lane where workspace_id = ${workspaceId} and kind = ${kind}::lane_kind and name = ${name} and deleted_at is null`,
  );

/** Like `findLane`, and locks the lane until the transaction ends. Uses index lane_name. */
export const lockLane = (tx: Db, workspaceId: WorkspaceId, kind: LaneKind, name: string): Promise<{ id: LaneId } | null> =>
  row(
    tx,
    sql`
      select id from lane where workspace_id = ${workspaceId} and kind = ${kind}::lane_kind and name = ${name} and deleted_at is null
      for no key update`,
  );

/** Lists names of lanes that are next to `name` in alphabetical order: up to `limit` on each side. Uses index lane_name. */
export const listNamesAround = (
  db: Db,
  workspaceId: WorkspaceId,
  kind: LaneKind,
  name: string,
  limit: number,
): Promise<{ name: string }[]> =>
  rows(
    db,
    sql`
      (select name from lane
        where workspace_id = ${workspaceId} and kind = ${kind}::lane_kind and name >= ${name} and deleted_at is null
        order by name limit ${limit})
      union all
      (select name from lane
        where workspace_id = ${workspaceId} and kind = ${kind}::lane_kind and name < ${name} and deleted_at is null
        order by name desc limit ${limit})`,
  );

/** Marks a lane as deleted. Callers no longer see it; its jobs and its row are swept later. Uses index lane_name. */
export const markLaneDeleted = (db: Db, workspaceId: WorkspaceId, kind: LaneKind, name: string): Promise<{ id: LaneId } | null> =>
  row(
    db,
    sql`
      update lane set deleted_at = moment(), revision = revision + 1
      where workspace_id = ${workspaceId} and kind = ${kind}::lane_kind and name = ${name} and deleted_at is null returning id`,
  );

/** Marks all lanes of a workspace as deleted. Uses the primary key. */
export const markLanesDeleted = (db: Db, workspaceId: WorkspaceId): Promise<unknown> =>
  rows(db, sql`update lane set deleted_at = moment(), revision = revision + 1 where workspace_id = ${workspaceId} and deleted_at is null`);

/** Marks the lanes as deleted that were created while their workspace was being deleted. Uses index workspace_deleted. */
export const markLateLanesDeletedAcrossWorkspaces = (db: Db): Promise<unknown> =>
  rows(
    db,
    sql`
      update lane l set deleted_at = moment(), revision = l.revision + 1 from workspace w
      where w.deleted_at is not null and l.workspace_id = w.id and l.deleted_at is null`,
  );

/** Some deleted lanes, oldest first. Uses index lane_deleted. */
export const findDeletedLanesAcrossWorkspaces = (db: Db, { ids, among }: WhichLanes, limit: number): Promise<LaneKey[]> =>
  rows(
    db,
    sql`
      select workspace_id as "workspaceId", id as "laneId" from lane
      where deleted_at is not null and (id = any(${plainArray(ids)}::bigint[])) = ${among}::boolean order by id limit ${limit}`,
  );

/**
 * Deletes the row of a deleted lane, and what refers to it. The row stays for at least a minute, so that an enqueue under way at the
 * deletion leaves nothing behind. It also stays until its jobs are deleted and its usage is folded, which stores its name.
 */
export const removeEmptyLane = (db: Db, { workspaceId, laneId }: LaneKey): Promise<unknown> =>
  rows(
    db,
    sql`
      delete from lane l where workspace_id = ${workspaceId} and id = ${laneId} and deleted_at < moment() - interval '1 minute'
        and not exists (select from job j where j.workspace_id = l.workspace_id and j.lane_id = l.id)
        and not exists (select from run r where r.workspace_id = l.workspace_id and r.lane_id = l.id)
        and not exists (select from usage_delta u where u.workspace_id = l.workspace_id and u.lane_id = l.id)`,
  );

/** Part of a claim: records starts in lanes with a rate limit, from CTEs `gate` (rows of lane_gate) and `picked` (jobs that start). */
export const RECORD_STARTS = fragment`
  insert into lane_starts as s (workspace_id, lane_id, at, jobs)
  select l.workspace_id, l.lane_id, array[l.read_at], array[n.jobs]
  from gate l cross join lateral (select count(*)::int as jobs from picked p where p.lane_id = l.lane_id) n
  where l.limited and l.rate_max is not null and n.jobs > 0
  on conflict (workspace_id, lane_id) do update set (at, jobs) = (
    select a.at, a.jobs from gate l, add_starts(s.at, s.jobs, excluded.jobs[1], excluded.at[1], l.rate_seconds) a
    where l.lane_id = s.lane_id)`;

const ANY = fragment`true`;

/**
 * The records of these lanes, in any order. Uses the primary keys.
 *
 * @param records a view whose key is the workspace and the id of the lane
 * @param wanted a condition on record `r`
 */
export const findRecordsAcrossWorkspaces = <Found extends object>(
  db: Db,
  records: Fragment,
  lanes: readonly LaneKey[],
  wanted: Fragment = ANY,
): Promise<Found[]> =>
  rows(
    db,
    sql`
      select r.*
      from unnest(${plainArray(lanes.map((lane) => lane.workspaceId))}::uuid[], ${plainArray(lanes.map((lane) => lane.laneId))}::bigint[])
        l (workspace_id, lane_id)
      cross join lateral (select * from ${records} r where r.workspace_id = l.workspace_id and r.id = l.lane_id offset 0) r
      where ${wanted}`,
  );
