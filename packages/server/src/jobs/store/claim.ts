import { RECORD_PROBES } from "#circuits";
import { type Db, Fragment, fragment, plainArray, rows, sql, type Timestamp, textArray, type WorkspaceId } from "#kernel";
import { DELIVERING_PLANS, type LaneId, type LaneKey, type LaneService, RECORD_STARTS } from "#lanes";
import type { Claim } from "../claim.ts";
import { CLAIMABLE, CLAIMED_COLUMNS } from "./fragments.ts";

/** When another transaction holds the limited lane, or jobs that a worker could take, the claim is tried again after this. Milliseconds. */
const BUSY_RETRY_MS = 25;

/**
 * A claim brings payloads of up to this many bytes, and the job that exceeds the limit. A claim for a node also brings at least one job of
 * each lane.
 */
export const MAX_CLAIM_BYTES = 4 * 1024 * 1024;
export const CLAIM_BYTES = new Fragment(String(MAX_CLAIM_BYTES));

/** The lease of the node that claims, and how the lanes that it claims from are served. */
export interface Claimant {
  readonly leaseId: number;
  readonly served: Exclude<LaneService, "none">;
}

/** Who gets how many of the jobs that are claimed from a lane for workers. */
export interface Holder extends LaneKey {
  readonly take: number;
  /** The worker's lease. */
  readonly leaseId: number;
  readonly leaseSeconds: number;
  /** The name of the call. */
  readonly request: string | null;
  /** The version of the worker's code, for runs that have none yet. */
  readonly version: string | null;
}

/**
 * Which runs of a workflow the workers of one version take, while workers of other versions poll as well. Runs without a version are for
 * all of them.
 */
export interface VersionFilter {
  readonly version: string | null;
  /** The other versions, whose runs are theirs. */
  readonly others: readonly string[];
  /** Whether this version also takes the runs of versions that no worker has any more. */
  readonly isNewest: boolean;
}

/** A job that was claimed for a worker. */
export interface WorkerClaim extends Claim {
  /** When the claim ends. */
  readonly leaseUntil: Timestamp;
  readonly request: string | null;
  /** Its place among the jobs that the claim took from its lane, from 1. */
  readonly place: number;
}

/** What a claim found about a lane that has limits, that it passed over, or that is served in another way. */
export interface LaneFound {
  readonly laneId: LaneId;
  readonly limited: boolean;
  /**
   * When more of its jobs may start, if only its rate limit or another claim keeps them from starting, or if they came too late for this
   * claim. Milliseconds from now.
   */
  readonly opensInMs: number | null;
  /** Whether workers serve it. */
  readonly isPulled: boolean;
  /** Whether other transactions have locked the lane, or jobs of it that this claim could have taken. */
  readonly isBusy?: boolean;
}

type ClaimRow = { [Field in keyof Claim]: Claim[Field] | null } & { found: LaneFound | null };

/** What differs between claims of a node and claims for workers, in the statement below. */
interface ClaimParts {
  /** CTE `picked`: of the jobs that were found, those to claim. */
  readonly picked: Fragment;
  /** The lanes of jobs that were found and not picked, for another claim to take. */
  readonly cut: Fragment;
  /** Lanes that gave less than was asked for because other transactions hold jobs. */
  readonly busy: Fragment;
  /** What the update reads in addition to `picked`, how it finds the jobs, and what it sets. */
  readonly from: Fragment;
  readonly found: Fragment;
  readonly lease: Fragment;
  /** More columns of a claim, and a null for each of its columns. */
  readonly columns: Fragment;
  readonly nulls: Fragment;
}

const BY_KEY = fragment`job.workspace_id = any(array[picked.workspace_id]) and job.lane_id = picked.lane_id and job.id = picked.id`;

/** A list of this many nulls, as columns. */
const nulls = (count: number) => new Fragment(Array(count).fill("null").join(", "));

/**
 * The jobs that were found, each with the bytes of the jobs before it. Workspaces share the bytes: the next job is from a workspace whose
 * jobs so far have fewer bytes.
 */
const WEIGHED = fragment`(
  select *, sum(size) over (order by workspace_bytes, workspace_id) - size as bytes_before
  from (
    select *, sum(size) over (partition by workspace_id order by place, lane_id) as workspace_bytes
    from (select next.*, row_number() over (partition by lane_id order by priority desc, run_at, id)::int as place from next where seen) placed
  ) placed
) weighed`;

/** The jobs are put in order only if their payloads exceed the limit, which is rare. */
const FOR_NODE: ClaimParts = {
  picked: fragment`
    select next.*, 1 as place from next
    where seen and (not (select is_heavy from weight) or id in (select id from ${WEIGHED} where place = 1 or bytes_before < ${CLAIM_BYTES}))`,
  cut: fragment`select lane_id from next where seen and (select is_heavy from weight) and not id in (select id from picked)`,
  // A node finds them with its next poll.
  busy: fragment`select null::bigint as lane_id, false as limited where false`,
  from: fragment`picked`,
  found: BY_KEY,
  lease: fragment`lease_id = (select lease_id from claimant)`,
  columns: fragment``,
  nulls: nulls(21),
};

const FOR_WORKERS: ClaimParts = {
  picked: fragment`select * from ${WEIGHED} where bytes_before < ${CLAIM_BYTES}`,
  cut: fragment`select lane_id from next where seen and not id in (select id from picked)`,
  busy: fragment`
    select l.lane_id, l.limited from gate l cross join lateral (
      select id from job
      where job.workspace_id = l.workspace_id and job.lane_id = l.lane_id and ${CLAIMABLE} and not id in (select id from next)
      order by priority desc, run_at, id limit 1
    ) claimable
    where not l.paused and l.served = 'pull' and exists (select from claimant)
      and (select count(*) from next where next.lane_id = l.lane_id) < least(l.take, l.slots_free, l.starts_free)`,
  from: fragment`picked join holder on holder.lane_id = picked.lane_id and picked.place > holder.upto - holder.take and picked.place <= holder.upto`,
  found: BY_KEY,
  lease: fragment`lease_id = holder.lease_id, lease_until = picked.read_at + holder.seconds * interval '1 second', lease_request = holder.request,
    code_version = case when job.kind in ('run', 'undo') then coalesce(job.code_version, holder.version) end`,
  columns: fragment`, job.lease_until as "leaseUntil", job.lease_request as request, picked.place`,
  nulls: nulls(24),
};

/**
 * The same for one lane without limits, whose jobs come in order. Nothing is sorted, and the update finds the locked rows by their ctid. A
 * job whose row has moved since the snapshot is not found there: like jobs that exceed the bytes, it is left to another claim.
 */
const FOR_WORKERS_OF_LANE: ClaimParts = {
  ...FOR_WORKERS,
  picked: fragment`
    select * from (
      select next.*, row_number() over so_far as place, sum(size) over so_far - size as bytes_before
      from next window so_far as (rows unbounded preceding)
    ) weighed
    where bytes_before < ${CLAIM_BYTES}`,
  cut: fragment`select lane_id from next where not id in (select id from claimed)`,
  found: fragment`job.ctid = picked.at`,
};

const COUNT = fragment`case when l.probe is null then least(l.take, l.slots_free, l.starts_free) else least(1, l.slots_free, l.starts_free) end`;

/** The next jobs of lane `l`. */
const NEXT = fragment`
  select workspace_id, lane_id, id, priority, run_at, octet_length(payload) as size, true as seen, ctid as at from job
  where job.workspace_id = l.workspace_id and job.lane_id = l.lane_id and ${CLAIMABLE}
  order by priority desc, run_at, id limit ${COUNT} for update skip locked`;

/**
 * The same after the lane was locked, which is later than the snapshot of the statement. A job that became claimable in between is not
 * `seen`: it has to be claimed by another statement, and keeps its place before jobs that come after it.
 */
const NEXT_OF_LOCKED = fragment`
  select l.workspace_id, l.lane_id, next.id, job.priority, job.run_at, job.size, job.id is not null as seen, null::tid as at
  from next_jobs(l.workspace_id, l.lane_id, ${COUNT}) next (id)
  left join lateral (
    select id, priority, run_at, octet_length(payload) as size from job
    where job.workspace_id = any(array[l.workspace_id]) and job.lane_id = l.lane_id and job.id = next.id and ${CLAIMABLE} offset 0
  ) job on true`;

/** The same for the runs that the filter lets through. Another claim may have locked a run that this finds. */
const NEXT_OF_VERSION = fragment`
  select l.workspace_id, l.lane_id, next.id, job.priority, job.run_at, job.size, job.id is not null as seen, null::tid as at
  from filter cross join lateral next_jobs_of_version(l.workspace_id, l.lane_id, filter.version, filter.others, filter.is_newest, ${COUNT}) next (id)
  left join lateral (
    select id, priority, run_at, octet_length(payload) as size from job
    where job.workspace_id = any(array[l.workspace_id]) and job.lane_id = l.lane_id and job.id = next.id and ${CLAIMABLE}
    offset 0 for update skip locked
  ) job on true`;

/**
 * Claims up to `take` due jobs of each lane under a valid lease: highest priority first, then oldest first, within the lane's limits and
 * `MAX_CLAIM_BYTES`. Rows that another claim has locked are skipped. A lane whose circuit is open gives one job to one claim, when its next
 * probe is due. One look-up says whether any circuit is open, since usually none is.
 *
 * Lanes with limits have claims of their own (`limited`), one at a time: the claim locks the lane, then reads what its limits leave free
 * (I6). `found` describes these lanes, the lanes that were passed over because `limited` was wrong for them, and the lanes that are served
 * in another way. Uses index job_claimable.
 */
export const claimAcrossWorkspaces = (
  db: Db,
  claimant: Claimant,
  lanes: readonly LaneTake[],
  limited = false,
): Promise<{ claims: Claim[]; found: LaneFound[] }> => claim(db, claimant, lanes, { limited, filter: null }, FOR_NODE, []);

/**
 * The same for workers: what is claimed from a lane is divided among its `holders`. Each of them gets up to `take` jobs, and every job is
 * held until its own time. With a filter, there is one lane.
 */
export const claimForWorkersAcrossWorkspaces = async (
  db: Db,
  leaseId: number,
  holders: readonly Holder[],
  limited: boolean,
  filter: VersionFilter | null = null,
): Promise<{ claims: WorkerClaim[]; found: LaneFound[] }> => {
  const lanes = new Map<LaneId, { workspaceId: WorkspaceId; laneId: LaneId; take: number }>();
  for (const { workspaceId, laneId, take } of holders) {
    const sofar = lanes.get(laneId)?.take ?? 0;
    lanes.set(laneId, { workspaceId, laneId, take: sofar + take });
  }
  const parts = lanes.size === 1 && !limited && !filter ? FOR_WORKERS_OF_LANE : FOR_WORKERS;
  const { claims, found } = await claim(db, { leaseId, served: "pull" }, [...lanes.values()], { limited, filter }, parts, holders);
  return { claims: claims as WorkerClaim[], found };
};

type LaneTake = LaneKey & { readonly take: number };

async function claim(
  db: Db,
  { leaseId, served }: Claimant,
  lanes: readonly LaneTake[],
  { limited, filter }: { readonly limited: boolean; readonly filter: VersionFilter | null },
  parts: ClaimParts,
  holders: readonly Holder[],
): Promise<{ claims: Claim[]; found: LaneFound[] }> {
  const claimed = await rows<ClaimRow>(
    db,
    sql`
      with claimant as (
        select id as lease_id from lease where id = ${leaseId} and expires_at > now()
      ), holder as (
        select h.*, sum(h.take) over (partition by h.lane_id order by h.at) as upto
        from unnest(${plainArray(holders.map((one) => one.laneId))}::bigint[], ${plainArray(holders.map((one) => one.take))}::int[],
          ${plainArray(holders.map((one) => one.leaseId))}::bigint[], ${plainArray(holders.map((one) => one.leaseSeconds))}::int[],
          ${textArray(holders.map((one) => one.request))}::text[], ${textArray(holders.map((one) => one.version))}::text[])
          with ordinality h (lane_id, take, lease_id, seconds, request, version, at)
      ), filter as (
        select ${filter?.version ?? null}::text as version, ${textArray(filter?.others ?? [])}::text[] as others, ${filter?.isNewest ?? true}::boolean as is_newest
      ), gate as (
        select g.take, (g.gate).*
        from lock_lane_gates(${plainArray(lanes.map((lane) => lane.workspaceId))}, ${plainArray(lanes.map((lane) => lane.laneId))},
          ${plainArray(lanes.map((lane) => lane.take))}) g
        where ${limited}
        union all
        select l.take, g.*
        from unnest(${plainArray(lanes.map((lane) => lane.workspaceId))}::uuid[], ${plainArray(lanes.map((lane) => lane.laneId))}::bigint[],
          ${plainArray(lanes.map((lane) => lane.take))}::int[]) l (workspace_id, lane_id, take)
        cross join lateral (
          select * from lane_gate g where g.workspace_id = l.workspace_id and g.lane_id = l.lane_id offset 0
        ) g
        where not ${limited}
      ), due as (
        select c.workspace_id, c.lane_id,
          json_build_object('failed', c.probes, 'openMs', round(extract(epoch from moment() - c.opened_at) * 1000)) as probe
        from gate l join circuit c on c.workspace_id = l.workspace_id and c.lane_id = l.lane_id and c.probe_at <= moment()
        where l.limited = ${limited} and exists (select from circuit)
        for update of c skip locked
      ), next as (
        select j.*, l.revision, l.attempt_timeout_seconds, l.read_at, l.probe
        from (
          select gate.*, due.probe
          from gate left join due on due.workspace_id = gate.workspace_id and due.lane_id = gate.lane_id
          where gate.limited = ${limited} and not gate.paused and gate.served = ${served}::lane_service
            and (gate.served = 'pull' or gate.plan = any(${DELIVERING_PLANS}))
            and (not exists (select from circuit) or due.lane_id is not null
              or not exists (select from circuit c where c.workspace_id = gate.workspace_id and c.lane_id = gate.lane_id))
        ) l
        cross join lateral (
          ${filter ? NEXT_OF_VERSION : limited ? NEXT_OF_LOCKED : NEXT}
        ) j
        where exists (select from claimant)
      ), weight as (
        select sum(size) > ${CLAIM_BYTES} as is_heavy from next
      ), picked as (
        ${parts.picked}
      ), busy as (
        select lane_id from (${filter ? FOR_NODE.busy : parts.busy}) held where limited = ${limited}
      ), probed as (
        ${RECORD_PROBES}
      ), claimed as (
        update job set state = 'active', attempt = job.attempt + 1, ${parts.lease}, started_at = picked.read_at
        from ${parts.from}
        where ${parts.found}
        returning ${CLAIMED_COLUMNS}, payload, revision, probe, ${limited}::boolean as limited${parts.columns}
      ), cut as (
        ${parts.cut}
      ), started as (
        ${RECORD_STARTS}
      ), found as (
        select json_build_object('laneId', l.lane_id, 'limited', l.limited, 'isPulled', l.served = 'pull', 'isBusy', b.is_busy, 'opensInMs',
          case when n.unseen and not b.is_busy or l.lane_id in (select lane_id from cut) then 0
            when b.is_busy then ${BUSY_RETRY_MS}::int
            when n.jobs >= l.starts_free and n.jobs < coalesce(l.slots_free, n.jobs + 1)
            then extract(epoch from coalesce(l.starts_at - l.read_at, l.rate_seconds * interval '1 second')) * 1000 end) as found
        from gate l
        cross join lateral (
          select (select count(*) from picked p where p.lane_id = l.lane_id) as jobs,
            exists (select from next where next.lane_id = l.lane_id and not seen) as unseen
        ) n
        cross join lateral (select n.unseen and ${filter !== null} or l.lane_id in (select lane_id from busy) as is_busy) b
        where ${limited} or ${filter !== null} or l.limited or l.served <> ${served}::lane_service
        union all
        select distinct on (lane_id) json_build_object('laneId', lane_id, 'limited', false, 'isPulled', ${served}::lane_service = 'pull', 'opensInMs', 0)
        from cut where not ${limited}
        union all
        select json_build_object('laneId', lane_id, 'limited', false, 'isPulled', true, 'isBusy', true, 'opensInMs', ${BUSY_RETRY_MS}::int)
        from busy where not ${limited} and not lane_id in (select lane_id from cut)
        union all
        select json_build_object('laneId', l.id, 'limited', true, 'isPulled', l.served = 'pull', 'isBusy', true, 'opensInMs', ${BUSY_RETRY_MS}::int)
        from unnest(${plainArray(lanes.map((lane) => lane.workspaceId))}::uuid[], ${plainArray(lanes.map((lane) => lane.laneId))}::bigint[])
          requested (workspace_id, lane_id)
        join lane l on l.workspace_id = requested.workspace_id and l.id = requested.lane_id and coalesce(l.deleted_at, 'infinity') = 'infinity'
        where ${limited} and not requested.lane_id in (select lane_id from gate)
      )
      select claimed.*, null::json as found from claimed union all select ${parts.nulls}, found from found`,
  );
  return {
    claims: claimed.filter((one) => one.found === null) as unknown as Claim[],
    found: claimed.flatMap(({ found }) => found ?? []),
  };
}

/** All claims held under a lease, without payloads. Uses index job_active. */
export const findHeldAcrossWorkspaces = (db: Db, leaseId: number): Promise<Claim[]> =>
  rows(
    db,
    sql`
      select ${CLAIMED_COLUMNS}, '' as payload, 0 as revision, null::json as probe, false as limited
      from job where state = 'active' and lease_id = ${leaseId}`,
  );
