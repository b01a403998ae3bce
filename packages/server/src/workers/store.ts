import { WORKER_LISTED_MINUTES } from "#engine";
import { type Db, rows, sql, type Timestamp, textArray, type WorkspaceId } from "#kernel";
import type { LaneKey, LaneKind, LaneService } from "#lanes";

/** Lists workers that called lately, by name. Uses index lease_worker, and job_active for the jobs that they hold. */
export const listWorkers = (
  db: Db,
  workspaceId: WorkspaceId,
  after: string | null,
  limit: number,
): Promise<{ name: string; version: string | null; queues: string[]; workflows: string[]; last_seen_at: Timestamp; in_flight: number }[]> =>
  rows(
    db,
    sql`
      select l.worker as name, w.version, w.queues, w.workflows, w.last_seen_at,
        (select count(*) from job
          where job.lease_id = l.id and job.state = 'active' and job.workspace_id is not distinct from l.workspace_id) as in_flight
      from lease l join worker w on w.lease_id = l.id
      where l.workspace_id = ${workspaceId} and w.last_seen_at > moment() - ${WORKER_LISTED_MINUTES} * interval '1 minute' and l.worker > ${after ?? ""}
      order by l.worker limit ${limit}`,
  );

/** A queue or workflow that a worker polls. */
export interface AskedLane extends LaneKey {
  readonly name: string;
  readonly served: LaneService;
}

/** Finds queues or workflows by name. Uses index lane_name. */
export const findLanes = (db: Db, workspaceId: WorkspaceId, kind: LaneKind, names: readonly string[]): Promise<AskedLane[]> =>
  rows(
    db,
    sql`
      select workspace_id as "workspaceId", id as "laneId", name, served from lane
      where workspace_id = ${workspaceId} and kind = ${kind}::lane_kind and name = any(${textArray(names)}) and deleted_at is null`,
  );
