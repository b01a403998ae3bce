import { CLAIMED_COLUMNS, type Claim } from "#jobs";
import { type Db, type JobId, plainArray, rows, sql, type Timestamp, textArray, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey, LaneService } from "#lanes";

/** How long after its last call a worker is listed. Minutes. */
const LISTED_MINUTES = 15;

/** A worker as it last called. */
export interface WorkerCall {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  readonly version: string | null;
  readonly queues: readonly string[];
  /** For a new worker: 16 random bytes. */
  readonly secret: Buffer;
}

/** A worker's lease, and what its tokens contain. */
export interface WorkerLease {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  readonly leaseId: number;
  readonly secret: Buffer;
}

/** Writes when workers called, and what for. A new worker gets a lease. Uses index lease_worker. */
export const recordCallsAcrossWorkspaces = (db: Db, calls: readonly WorkerCall[]): Promise<WorkerLease[]> =>
  rows(
    db,
    sql`
      with call as (
        select * from unnest(${plainArray(calls.map((one) => one.workspaceId))}::uuid[], ${textArray(calls.map((one) => one.name))}::text[],
          ${textArray(calls.map((one) => one.version))}::text[], ${textArray(calls.map((one) => JSON.stringify(one.queues)))}::text[],
          ${textArray(calls.map((one) => one.secret.toString("hex")))}::text[]) c (workspace_id, worker, version, queues, secret)
      ), opened as (
        insert into lease (holder, workspace_id, worker, expires_at)
        select 'worker', workspace_id, worker, now() + ${LISTED_MINUTES} * interval '1 minute' from call order by workspace_id, worker
        on conflict (workspace_id, worker) where workspace_id is not null do update set expires_at = excluded.expires_at
        returning id, workspace_id, worker
      ), recorded as (
        insert into worker (lease_id, secret, version, queues)
        select o.id, decode(c.secret, 'hex'), c.version, array(select json_array_elements_text(c.queues::json))
        from opened o join call c on c.workspace_id = o.workspace_id and c.worker = o.worker
        on conflict (lease_id) do update set version = excluded.version, queues = excluded.queues, last_seen_at = now()
        returning lease_id, secret
      )
      select o.workspace_id as "workspaceId", o.worker as name, o.id as "leaseId", r.secret from opened o join recorded r on r.lease_id = o.id`,
  );

/** Finds a worker by its lease. Uses the primary keys. */
export const findWorkers = (db: Db, workspaceId: WorkspaceId, leaseIds: readonly number[]): Promise<WorkerLease[]> =>
  rows(
    db,
    sql`
      select l.workspace_id as "workspaceId", l.worker as name, l.id as "leaseId", w.secret
      from lease l join worker w on w.lease_id = l.id
      where l.id = any(${plainArray(leaseIds)}::bigint[]) and l.workspace_id = ${workspaceId}`,
  );

/** Lists workers that called lately, by name. Uses index lease_worker; job_active for what they hold. */
export const listWorkers = (
  db: Db,
  workspaceId: WorkspaceId,
  after: string | null,
  limit: number,
): Promise<{ name: string; version: string | null; queues: string[]; last_seen_at: Timestamp; in_flight: number }[]> =>
  rows(
    db,
    sql`
      select l.worker as name, w.version, w.queues, w.last_seen_at,
        (select count(*) from job where job.lease_id = l.id and job.state = 'active') as in_flight
      from lease l join worker w on w.lease_id = l.id
      where l.workspace_id = ${workspaceId} and l.expires_at > now() and l.worker > ${after ?? ""}
      order by l.worker limit ${limit}`,
  );

/** A queue that a worker asks for. */
export interface AskedQueue extends LaneKey {
  readonly name: string;
  readonly served: LaneService;
}

/** Finds queues by name. Uses index lane_name. */
export const findQueues = (db: Db, workspaceId: WorkspaceId, names: readonly string[]): Promise<AskedQueue[]> =>
  rows(
    db,
    sql`
      select workspace_id as "workspaceId", id as "laneId", name, served from lane
      where workspace_id = ${workspaceId} and kind = 'queue' and name = any(${textArray(names)}) and deleted_at is null`,
  );

/** A job as a worker's token names it. */
export interface NamedClaim {
  readonly laneId: LaneId;
  readonly id: JobId;
  readonly leaseId: number;
  readonly attempt: number;
}

/** A job that a worker holds, with its payload if that may hold a template, and the name of its queue. */
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
        and job.lease_until > now()
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
      update job set lease_until = now() + ${seconds} * interval '1 second'
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
