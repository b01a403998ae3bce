import type { Deploy } from "@tidemill/contract";
import { type Db, row, rows, sql, type Timestamp, toMoment, type Uuid, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { MetricRange } from "./range.ts";

/** What is kept of one part of a step. */
export interface MetricPart {
  /** Milliseconds since 1970. */
  readonly at_ms: number;
  readonly enqueued: number;
  readonly completed: number;
  readonly failed: number;
  readonly retried: number;
  /** A JSON array. */
  readonly latencies: string;
  readonly oldest_seconds: number | null;
}

/** The database's time, in milliseconds since 1970, and for how many days the workspace keeps what has finished; null: for ever. */
export async function findTerms(db: Db, workspaceId: WorkspaceId): Promise<{ nowMs: number; retentionDays: number | null }> {
  const terms = await row<{ nowMs: number; retentionDays: number | null }>(
    db,
    sql`
      select (extract(epoch from moment()) * 1000)::float8 as "nowMs", retention_days as "retentionDays"
      from workspace where id = ${workspaceId}`,
  );
  if (!terms) throw new Error("The workspace of a valid key does not exist.");
  return terms;
}

/**
 * What is kept of a range, of one lane or of all queues: folded steps, and changes that are not folded yet. Uses the primary key of
 * job_metric and index job_delta_workspace.
 */
export const readMetricParts = (
  db: Db,
  workspaceId: WorkspaceId,
  laneId: LaneId | null,
  { fromMs, toMs, span, keptFromMs }: MetricRange,
): Promise<MetricPart[]> =>
  rows(
    db,
    sql`
      with range as (
        select greatest(${toMoment(fromMs)}::timestamptz, ${keptFromMs && toMoment(keptFromMs)}::timestamptz) as first, ${toMoment(toMs)}::timestamptz as last
      ), parts as (
        select at, enqueued, completed, failed, retried, latencies, oldest_seconds from range cross join lateral (
          select * from job_metric_now m
          where m.workspace_id = ${workspaceId} and m.lane_id = ${laneId ?? 0} and m.span = ${span} and m.at >= range.first and m.at < range.last
          offset 0) folded
        union all
        select at, enqueued, completed, failed, retried, latencies, null from range cross join lateral (
          select m.* from job_metric_now m
          cross join lateral (
            select from lane l where l.workspace_id = any(array[m.workspace_id]) and l.id = m.lane_id and l.kind = 'queue' offset 0) l
          where m.workspace_id = ${workspaceId} and m.span = 0 and (${laneId}::bigint is null or m.lane_id = ${laneId})
            and m.at >= range.first and m.at < range.last and (m.enqueued > 0 or m.completed > 0 or m.failed > 0 or m.retried > 0)
          offset 0) unfolded
      )
      select (extract(epoch from at) * 1000)::float8 as at_ms, enqueued, completed, failed, retried,
        '[' || array_to_string(latencies, ',') || ']' as latencies, oldest_seconds
      from parts`,
  );

export interface DeployRow extends Omit<Deploy, "id" | "created_at"> {
  readonly id: Uuid;
  readonly created_at: Timestamp;
}

export const insertDeploy = (
  tx: Db,
  { workspaceId, id, name, version, actorId }: { workspaceId: WorkspaceId; id: Uuid; name: string; version: string; actorId: string },
): Promise<DeployRow | null> =>
  row(
    tx,
    sql`
      insert into deploy (workspace_id, id, name, version, actor_id, created_at)
      values (${workspaceId}, ${id}, ${name}, ${version}, ${actorId}, moment())
      returning id, name, version, actor_id, created_at`,
  );

/** A page of deploys, newest first. Uses the primary key: ids are in the order of time. */
export const listDeploys = (
  db: Db,
  {
    workspaceId,
    from,
    to,
    before,
    limit,
  }: { workspaceId: WorkspaceId; from: string | null; to: string | null; before: Uuid | null; limit: number },
): Promise<DeployRow[]> =>
  rows(
    db,
    sql`
      select id, name, version, actor_id, created_at from deploy
      where workspace_id = ${workspaceId} and (${before}::uuid is null or id < ${before})
        and (${from}::timestamptz is null or created_at >= ${from}) and (${to}::timestamptz is null or created_at < ${to})
      order by id desc limit ${limit}`,
  );

/** Circuits that opened or closed in a range, newest first. Uses index circuit_change_time. */
export const listCircuitChanges = (
  db: Db,
  { workspaceId, from, to, queue, limit }: { workspaceId: WorkspaceId; from: string; to: string; queue: string | null; limit: number },
): Promise<{ at: Timestamp; name: string; opened: boolean }[]> =>
  rows(
    db,
    sql`
      select c.at, l.name, c.opened from circuit_change c join lane l on l.workspace_id = c.workspace_id and l.id = c.lane_id
      where c.workspace_id = ${workspaceId} and c.at >= ${from} and c.at < ${to} and (${queue}::text is null or l.kind = 'queue' and l.name = ${queue})
      order by c.at desc limit ${limit}`,
  );

/** Deletes deploys past the retention of their workspace. */
export const deleteOldDeploysAcrossWorkspaces = (db: Db): Promise<unknown> =>
  row(
    db,
    sql`
      delete from deploy d using workspace w
      where w.id = d.workspace_id and d.created_at < moment() - w.retention_days * interval '1 day'`,
  );
