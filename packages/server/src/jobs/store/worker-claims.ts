import { type Db, type JobId, plainArray, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { Claim } from "../claim.ts";
import { CLAIMED_COLUMNS } from "./fragments.ts";

/** A job as a worker's token names it. */
export interface NamedClaim {
  readonly laneId: LaneId;
  readonly id: JobId;
  readonly leaseId: number;
  readonly attempt: number;
}

/**
 * A job that a worker holds, with its payload if that may hold a template, and the name of its queue. Whether the queue has limits is not
 * known: it is taken to have them.
 */
export interface HeldRow extends Claim {
  readonly queue: string;
  readonly leaseUntil: Timestamp;
}

/** Finds those of these claims that are still held. Uses the primary key. */
export const findHeld = (db: Db, workspaceId: WorkspaceId, claims: readonly NamedClaim[]): Promise<HeldRow[]> =>
  rows(
    db,
    sql`
      select ${CLAIMED_COLUMNS}, case when position('{' in job.payload) > 0 then job.payload else '' end as payload, 0 as revision,
        null::json as probe, true as limited, lane.name as queue, job.lease_until as "leaseUntil"
      from unnest(${plainArray(claims.map((one) => one.laneId))}::bigint[], ${plainArray(claims.map((one) => one.id))}::uuid[],
        ${plainArray(claims.map((one) => one.leaseId))}::bigint[], ${plainArray(claims.map((one) => one.attempt))}::int[])
        c (lane_id, id, lease_id, attempt)
      join job on job.workspace_id = ${workspaceId} and job.lane_id = c.lane_id and job.id = c.id
        and job.lease_id is not distinct from c.lease_id and job.attempt = c.attempt
      join lane on lane.workspace_id = ${workspaceId} and lane.id = c.lane_id`,
  );

/** The jobs that a worker still holds from a call of this name, with payloads. Uses index job_active. */
export const findTakenBy = (db: Db, workspaceId: WorkspaceId, leaseId: number, request: string): Promise<HeldRow[]> =>
  rows(
    db,
    sql`
      select ${CLAIMED_COLUMNS}, job.payload, 0 as revision, null::json as probe, true as limited, lane.name as queue,
        job.lease_until as "leaseUntil"
      from job join lane on lane.workspace_id = ${workspaceId} and lane.id = job.lane_id
      where job.state = 'active' and job.lease_id = ${leaseId} and job.lease_request = ${request} and job.workspace_id = ${workspaceId}
        and job.lease_until > moment()
      order by job.priority desc, job.run_at, job.id`,
  );

/** Lets claims last `seconds` from now. Returns those that are still held. Uses the primary key. */
export const extendClaims = (
  db: Db,
  workspaceId: WorkspaceId,
  claims: readonly NamedClaim[],
  seconds: number,
): Promise<{ id: JobId; leaseUntil: Timestamp }[]> =>
  rows(
    db,
    sql`
      update job set lease_until = moment() + ${seconds} * interval '1 second'
      from unnest(${plainArray(claims.map((one) => one.laneId))}::bigint[], ${plainArray(claims.map((one) => one.id))}::uuid[],
        ${plainArray(claims.map((one) => one.leaseId))}::bigint[], ${plainArray(claims.map((one) => one.attempt))}::int[])
        c (lane_id, id, lease_id, attempt)
      where job.workspace_id = ${workspaceId} and job.lane_id = c.lane_id and job.id = c.id
        and job.lease_id is not distinct from c.lease_id and job.attempt = c.attempt
      returning job.id, job.lease_until as "leaseUntil"`,
  );

/** Which of these jobs were cancelled. Uses the primary key. */
export const findCancelled = async (db: Db, workspaceId: WorkspaceId, claims: readonly NamedClaim[]): Promise<JobId[]> =>
  (
    await rows<{ id: JobId }>(
      db,
      sql`
        select h.id from unnest(${plainArray(claims.map((one) => one.laneId))}::bigint[], ${plainArray(claims.map((one) => one.id))}::uuid[])
          c (lane_id, id)
        join job_history h on h.workspace_id = ${workspaceId} and h.lane_id = c.lane_id and h.id = c.id
        where h.state = 'cancelled'`,
    )
  ).map(({ id }) => id);

/** The logs of the jobs that these claims are or were of, live or finished. Uses the primary keys of job and of job_history's partitions. */
export const findLogsOf = (
  db: Db,
  workspaceId: WorkspaceId,
  claims: readonly NamedClaim[],
): Promise<{ id: JobId; queue: string; log: string }[]> =>
  rows(
    db,
    sql`
      select r.id, lane.name as queue, r.attempts_log as log
      from unnest(${plainArray(claims.map((one) => one.laneId))}::bigint[], ${plainArray(claims.map((one) => one.id))}::uuid[]) c (lane_id, id)
      join lane on lane.workspace_id = ${workspaceId} and lane.id = c.lane_id
      cross join lateral (
        select id, attempts_log from job_record j where j.workspace_id = ${workspaceId} and j.lane_id = c.lane_id and j.id = c.id offset 0
      ) r`,
  );
