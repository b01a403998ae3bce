import { type Db, fragment, type JobId, plainArray, rows, sql, type Timestamp, textArray, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { columnMayHoldTemplates } from "#vault";
import type { Claim } from "../claim.ts";
import type { JobKey } from "../job.ts";
import { claimColumns, keyColumns } from "./columns.ts";
import { CLAIMED_COLUMNS, ENDED_LEASE } from "./fragments.ts";

/** A job as a worker's token names it. */
export interface NamedClaim {
  readonly laneId: LaneId;
  readonly id: JobId;
  readonly leaseId: number;
  readonly attempt: number;
}

/** A job that a worker holds, and the name of its queue. Whether the queue has limits is not known: it is assumed to have some. */
interface HeldRow extends Claim {
  readonly queue: string;
  readonly leaseUntil: Timestamp;
}

/** The same without its payload, which only runs have. */
export interface FoundClaim extends HeldRow {
  /** The payload of a job if it may hold templates. */
  readonly templated: string | null;
}

const columnsOf = (workspaceId: WorkspaceId, claims: readonly NamedClaim[]) =>
  claimColumns(claims.map((claim) => ({ ...claim, workspaceId })));

/** Whether the lane of `job` has not been deleted. Its jobs are deleted later. */
const LANE_EXISTS = fragment`exists (
  select from lane l where l.workspace_id = any(array[job.workspace_id]) and l.id = job.lane_id and coalesce(l.deleted_at, 'infinity') = 'infinity')`;

/** Whether the claim `c` is still held on `job`. */
const IS_HELD = fragment`job.workspace_id = any(array[c.workspace_id]) and job.lane_id = c.lane_id and job.id = c.id
  and job.lease_id is not distinct from c.lease_id and job.attempt = c.attempt and ${LANE_EXISTS}`;

/** Whether `job` is one of CTE `locked`. A join would compare each job with all of them. */
const IS_LOCKED = fragment`job.workspace_id = any(array(select distinct workspace_id from locked))
  and job.lane_id = any(array(select distinct lane_id from locked)) and job.id = any(array(select id from locked))`;

const MAY_HOLD_TEMPLATES = columnMayHoldTemplates(fragment`job.payload`);

/** Finds which of these claims are still held. Uses the primary key. */
export function findHeld(db: Db, workspaceId: WorkspaceId, claims: readonly NamedClaim[]): Promise<FoundClaim[]> {
  const { workspaceIds, laneIds, ids, leaseIds, attempts } = columnsOf(workspaceId, claims);
  return rows(
    db,
    sql`
      select ${CLAIMED_COLUMNS}, case when job.kind = 'run' then job.payload else '' end as payload, 0 as revision,
        null::json as probe, true as limited, lane.name as queue, job.lease_until as "leaseUntil",
        case when job.kind = 'queue' and ${MAY_HOLD_TEMPLATES} then job.payload end as templated
      from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[], ${leaseIds}::bigint[], ${attempts}::int[])
        c (workspace_id, lane_id, id, lease_id, attempt)
      join job on ${IS_HELD}
      join lane on lane.workspace_id = any(array[c.workspace_id]) and lane.id = c.lane_id`,
  );
}

/** Which of these jobs a worker holds. Uses index job_active. */
export const findHeldAmong = async (db: Db, workspaceId: WorkspaceId, leaseId: number, ids: readonly JobId[]): Promise<JobId[]> =>
  (
    await rows<{ id: JobId }>(
      db,
      sql`
        select id from job
        where state = 'active' and lease_id = ${leaseId} and workspace_id is not distinct from ${workspaceId}
          and id in (select unnest(${plainArray(ids)}::uuid[])) and ${LANE_EXISTS}`,
    )
  ).map(({ id }) => id);

/** The jobs of a lane that these leases hold. The lane may have been deleted. Uses index job_active. */
export const findHeldInLane = (
  db: Db,
  { workspaceId, laneId }: LaneKey,
  leaseIds: readonly number[],
): Promise<Pick<Claim, "id" | "kind" | "leaseId">[]> =>
  rows(
    db,
    sql`
      select id, kind, lease_id as "leaseId" from job
      where state = 'active' and lease_id = any(${plainArray(leaseIds)}::bigint[]) and lane_id = ${laneId}
        and workspace_id is not distinct from ${workspaceId}`,
  );

/** A job that a repeated call takes, with the name that its claim has now. */
export interface TakenRow extends HeldRow {
  readonly request: string | null;
}

/** A suffix of the call's name in a claim: a repetition of the call has taken the claim. */
const REPEATED = "\u0001";

/**
 * The jobs that a worker still holds from a call of this name, with payloads. Hooks are marked as taken by a repetition: a hook that was
 * released in the meantime is left out, and the others are no longer released.
 */
export async function findTakenBy(db: Db, workspaceId: WorkspaceId, leaseId: number, request: string): Promise<TakenRow[]> {
  const taken = await findHeldOf(db, workspaceId, leaseId, request);
  const hooks = taken.filter(({ kind }) => kind === "hook");
  if (hooks.length === 0) return taken;
  const marked = new Set(await renameCalls(db, workspaceId, hooks, request + REPEATED));
  return taken.flatMap((job) => {
    if (job.kind !== "hook") return [job];
    return marked.has(job.id) ? [{ ...job, request: request + REPEATED }] : [];
  });
}

/** Uses index job_active. */
const findHeldOf = (db: Db, workspaceId: WorkspaceId, leaseId: number, request: string): Promise<TakenRow[]> =>
  rows(
    db,
    sql`
      select ${CLAIMED_COLUMNS}, job.payload, 0 as revision, null::json as probe, true as limited, lane.name as queue,
        job.lease_until as "leaseUntil", job.lease_request as request
      from job join lane on lane.workspace_id = ${workspaceId} and lane.id = job.lane_id
      where job.state = 'active' and job.lease_id = ${leaseId} and job.lease_request = any(${textArray([request, request + REPEATED])}::text[])
        and job.workspace_id = ${workspaceId} and job.lease_until > moment()
      order by job.priority desc, job.run_at, job.id`,
  );

/** A claim, and the name of the call that took it. */
export interface TakenClaim extends NamedClaim {
  readonly request: string | null;
}

/**
 * Keeps repeated calls from taking these claims, which their call has not delivered. Returns the claims that no repetition has taken: they
 * may be released.
 */
export async function withdrawTaken(db: Db, workspaceId: WorkspaceId, claims: readonly TakenClaim[]): Promise<JobId[]> {
  // Of several repetitions, another one may have delivered it.
  const first = claims.filter(({ request }) => !request?.endsWith(REPEATED));
  return first.length > 0 ? renameCalls(db, workspaceId, first, null) : [];
}

/** Changes the name of the call in claims that still have it, or have it again. Returns these claims. Uses the primary key. */
async function renameCalls(db: Db, workspaceId: WorkspaceId, claims: readonly TakenClaim[], name: string | null): Promise<JobId[]> {
  const { workspaceIds, laneIds, ids, leaseIds, attempts } = columnsOf(workspaceId, claims);
  const renamed = await rows<{ id: JobId }>(
    db,
    sql`
      with c as (
        select * from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[], ${leaseIds}::bigint[], ${attempts}::int[],
          ${textArray(claims.map((one) => one.request))}::text[]) c (workspace_id, lane_id, id, lease_id, attempt, request)
      ), locked as (
        select job.workspace_id, job.lane_id, job.id from c join job on ${IS_HELD} and job.lease_request is not distinct from c.request
        order by job.lane_id, job.id for update of job
      )
      update job set lease_request = ${name} where ${IS_LOCKED}
      returning job.id`,
  );
  return renamed.map(({ id }) => id);
}

/**
 * Extends claims until `seconds` from now. A claim that lasts longer already is not shortened, unless `mayShorten` is true. Returns the
 * claims that are still held. A job that another statement has locked is left as it is, because that statement may wait for another of
 * these jobs: it is being settled or cancelled, or extended by another call. An expired claim is extended, too, until a rescue finds it
 * (`ENDED_LEASE`). Uses the primary key.
 */
export function extendClaims(
  db: Db,
  workspaceId: WorkspaceId,
  claims: readonly NamedClaim[],
  seconds: number,
  mayShorten = true,
): Promise<{ id: JobId; leaseUntil: Timestamp }[]> {
  const { workspaceIds, laneIds, ids, leaseIds, attempts } = columnsOf(workspaceId, claims);
  return rows(
    db,
    sql`
      with c as (
        select * from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[], ${leaseIds}::bigint[], ${attempts}::int[])
          c (workspace_id, lane_id, id, lease_id, attempt)
      ), held as (
        -- One that has expired and is locked may be the one that ends now.
        select job.id, job.lease_until from c join job on ${IS_HELD} and coalesce(job.lease_until > moment(), true)
      ), locked as (
        select job.workspace_id, job.lane_id, job.id from c join job on ${IS_HELD} and job.lease_until is distinct from ${ENDED_LEASE} for update of job skip locked
      ), extended as (
        update job set lease_until = greatest(moment() + ${seconds} * interval '1 second', case when ${mayShorten}::boolean then null else job.lease_until end)
        where ${IS_LOCKED}
        returning job.id, job.lease_until
      )
      select id, lease_until as "leaseUntil" from extended
      union all
      select id, lease_until from held where (id in (select id from extended)) is not true`,
  );
}

/** Which of these jobs were cancelled, or are gone with their lane. Uses the primary keys of lane and of job_history's partitions. */
export async function findCancelled(db: Db, workspaceId: WorkspaceId, claims: readonly NamedClaim[]): Promise<JobId[]> {
  const { workspaceIds, laneIds, ids } = columnsOf(workspaceId, claims);
  const found = await rows<{ id: JobId }>(
    db,
    sql`
      select c.id from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[]) c (workspace_id, lane_id, id)
      where exists (
          select from job_history h where h.workspace_id = any(array[c.workspace_id]) and h.lane_id = c.lane_id and h.id = c.id and h.state = 'cancelled')
        or not exists (
          select from lane l where l.workspace_id = any(array[c.workspace_id]) and l.id = c.lane_id and coalesce(l.deleted_at, 'infinity') = 'infinity')`,
  );
  return found.map(({ id }) => id);
}

/**
 * The logs of attempts of the jobs to which these claims belong or belonged, live or finished. Uses the primary keys of job and of
 * job_history's partitions.
 */
export function findLogsAcrossWorkspaces(db: Db, claims: readonly JobKey[]): Promise<{ id: JobId; queue: string; log: string }[]> {
  const { workspaceIds, laneIds, ids } = keyColumns(claims);
  return rows(
    db,
    sql`
      select r.id, lane.name as queue, r.attempts_log as log
      from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[]) c (workspace_id, lane_id, id)
      join lane on lane.workspace_id = any(array[c.workspace_id]) and lane.id = c.lane_id
      cross join lateral (
        select id, attempts_log from job_record j where j.workspace_id = c.workspace_id and j.lane_id = c.lane_id and j.id = c.id offset 0
      ) r`,
  );
}
