import type { JobState } from "@tidemill/contract";
import { type Db, plainArray, row, rows, sql, textArray, type WorkspaceId } from "#kernel";
import { DELIVERING_PLANS, type LaneId } from "#queues";
import type { Claim, LaneKey } from "./claim.ts";

/*
 * Where these statements look jobs up that they have the keys of, the workspace is compared by `= any(array[…])`. An equality could also
 * be merged along the primary key, and so offers the planner to read the index from end to end: for a table that was empty when it made
 * its plan, that is the cheapest, and the plan is kept while the table fills.
 */

/** What a probe may take beyond its queue's `callback_timeout` before another goes in its stead: its node is gone. */
const PROBE_GRACE_SECONDS = 5;

/** Of two nodes that claim from the same limited lane at once the later one tries again after this. */
const BUSY_RETRY_MS = 25;

/** A lane that a claim passed over, or what it found of the limits of one that has some. */
export interface LaneFound {
  readonly laneId: LaneId;
  readonly limited: boolean;
  /** When more jobs of it may start, if only its rate keeps them or another node's claim. Milliseconds from now. */
  readonly opensInMs: number | null;
}

type ClaimRow = { [Field in keyof Claim]: Claim[Field] | null } & { found: LaneFound | null };

/**
 * Claims up to `take` due jobs of each lane for a node whose lease holds, highest priority first, oldest first, and no more than
 * the lane's limits leave free. Rows that another node is claiming are passed over. A lane whose circuit is open gives one job
 * when its next probe is due, to one node; whether any circuit is open at all is looked up once, for mostly none is.
 *
 * Lanes with limits are claimed from on their own (`limited`), by one node at a time: what is free of a limit is read once nobody else
 * can take it (I6). What was found of them, and which were passed over for being of the other kind, is told in `found`. Leans on
 * job_claimable.
 */
export async function claimAcrossWorkspaces(
  db: Db,
  nodeId: number,
  lanes: readonly (LaneKey & { readonly take: number })[],
  limited = false,
): Promise<{ claims: Claim[]; found: LaneFound[] }> {
  const claimed = await rows<ClaimRow>(
    db,
    sql`
      with lane as (
        select g.take, (g.gate).*
        from lock_gates(${plainArray(lanes.map((lane) => lane.workspaceId))}, ${plainArray(lanes.map((lane) => lane.laneId))},
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
        from lane l join circuit c on c.workspace_id = l.workspace_id and c.lane_id = l.lane_id and c.probe_at <= moment()
        where l.limited = ${limited} and exists (select from circuit)
        for update of c skip locked
      ), picked as (
        select j.*, l.revision, l.callback_timeout, l.read_at, l.probe
        from (
          select lane.*, due.probe
          from lane left join due on due.workspace_id = lane.workspace_id and due.lane_id = lane.lane_id
          where lane.limited = ${limited} and not lane.paused and lane.has_handler and lane.plan = any(${DELIVERING_PLANS})
            and (not exists (select from circuit) or due.lane_id is not null
              or not exists (select from circuit c where c.workspace_id = lane.workspace_id and c.lane_id = lane.lane_id))
        ) l
        cross join lateral (
          select workspace_id, lane_id, id from job
          where job.workspace_id = l.workspace_id and job.lane_id = l.lane_id
            and state = 'waiting' and (concurrency_key is null or key_slot is not null)
          order by priority desc, run_at, id
          limit case when l.probe is null then least(l.take, l.slots_free, l.starts_free) else least(1, l.slots_free, l.starts_free) end
          for update skip locked
        ) j
        where exists (select from node where node.id = ${nodeId} and lease_until > now())
      ), probed as (
        update circuit c set probe_at = moment() + (picked.callback_timeout + ${PROBE_GRACE_SECONDS}::int) * interval '1 second'
        from picked
        where picked.probe is not null and c.workspace_id = any(array[picked.workspace_id]) and c.lane_id = picked.lane_id
      ), claimed as (
        update job set state = 'active', attempt = attempt + 1, node_id = ${nodeId}, started_at = picked.read_at
        from picked
        where job.workspace_id = any(array[picked.workspace_id]) and job.lane_id = picked.lane_id and job.id = picked.id
        returning job.workspace_id as "workspaceId", job.lane_id as "laneId", job.id, node_id as "nodeId", attempt, attempts, spared,
          backoff_delay_ms as "backoffDelayMs", payload, tag, concurrency_key as "concurrencyKey", created_at as "createdAt",
          started_at as "startedAt", schedule, scheduled_for as "scheduledFor", revision, probe, ${limited}::boolean as limited
      ), started as (
        insert into lane_starts as s (workspace_id, lane_id, at, jobs)
        select l.workspace_id, l.lane_id, array[l.read_at], array[n.jobs]
        from lane l cross join lateral (select count(*)::int as jobs from picked p where p.lane_id = l.lane_id) n
        where ${limited} and l.rate_max is not null and n.jobs > 0
        on conflict (workspace_id, lane_id) do update set (at, jobs) = (
          select a.at, a.jobs from lane l, add_starts(s.at, s.jobs, excluded.jobs[1], excluded.at[1], l.rate_seconds) a
          where l.lane_id = s.lane_id)
      ), found as (
        select json_build_object('laneId', l.lane_id, 'limited', l.limited, 'opensInMs',
          case when n.jobs >= l.starts_free and n.jobs < coalesce(l.slots_free, n.jobs + 1)
            then extract(epoch from coalesce(l.starts_at - l.read_at, l.rate_seconds * interval '1 second')) * 1000 end) as found
        from lane l cross join lateral (select count(*) as jobs from picked p where p.lane_id = l.lane_id) n
        where ${limited} or l.limited
        union all
        select json_build_object('laneId', l.lane_id, 'limited', true, 'opensInMs', ${BUSY_RETRY_MS}::int)
        from unnest(${plainArray(lanes.map((lane) => lane.workspaceId))}::uuid[], ${plainArray(lanes.map((lane) => lane.laneId))}::bigint[])
          l (workspace_id, lane_id)
        join queue q on q.workspace_id = l.workspace_id and q.id = l.lane_id and coalesce(q.deleted_at, 'infinity') = 'infinity'
        where ${limited} and not l.lane_id in (select lane_id from lane)
      )
      select claimed.*, found.found from claimed full join found on false`,
  );
  return {
    claims: claimed.filter((one) => one.found === null) as unknown as Claim[],
    found: claimed.flatMap(({ found }) => found ?? []),
  };
}

/** All that a node holds. Leans on job_active. */
export const findHeldAcrossWorkspaces = (db: Db, nodeId: number): Promise<Claim[]> =>
  rows(
    db,
    sql`
      select workspace_id as "workspaceId", lane_id as "laneId", id, node_id as "nodeId", attempt, attempts, spared,
        backoff_delay_ms as "backoffDelayMs", '' as payload, tag, concurrency_key as "concurrencyKey", created_at as "createdAt",
        started_at as "startedAt", schedule, scheduled_for as "scheduledFor", 0 as revision, null::json as probe, false as limited
      from job where state = 'active' and node_id = ${nodeId}`,
  );

/** Locks all keys of a queue until the transaction ends. */
export const lockKeysOf = (tx: Db, laneId: LaneId): Promise<unknown> => row(tx, sql`select lock_keys_of(${laneId}::bigint)`);

/**
 * Arranges keys of one queue that is to be arranged, of `only` or any but `but`, on from where the last time ended. Answers null when
 * there is none. They are so many that no more than `most` jobs may get a slot. Behind the last of a queue's keys, by their bytes, stands its id with the character that
 * follows the slash. Leans on queue_to_arrange and job_key.
 */
export const arrangeSomeAcrossWorkspaces = (
  db: Db,
  most: number,
  { only = null, but = [] }: { only?: LaneId | null; but?: readonly LaneKey[] },
): Promise<(LaneKey & { more: boolean }) | null> =>
  row(
    db,
    sql`
      with recursive lane as materialized (
        select workspace_id, id, arrange_behind, greatest(1, ${most}::int / concurrency_per_key) as most from queue
        where arrange_behind is not null and deleted_at is null and (${only}::bigint is null or id = ${only})
          and not id = any(${plainArray(but.map(({ laneId }) => laneId))}::bigint[])
        order by id limit 1 for no key update
      ), key as (
        select first.key, 1 as n from lane cross join lateral (
          select concurrency_key as key from job
          where workspace_id is not distinct from lane.workspace_id and state = 'waiting' and concurrency_key is not null
            and lane_key(lane_id, concurrency_key) collate "C" > lane_key(lane.id, lane.arrange_behind)
            and lane_key(lane_id, concurrency_key) collate "C" < lane.id || '0'
          order by lane_key(lane_id, concurrency_key) collate "C" limit 1) first
        union all
        select next.key, n + 1 from key cross join lane cross join lateral (
          select concurrency_key as key from job
          where workspace_id is not distinct from lane.workspace_id and state = 'waiting' and concurrency_key is not null
            and lane_key(lane_id, concurrency_key) collate "C" > lane_key(lane.id, key.key)
            and lane_key(lane_id, concurrency_key) collate "C" < lane.id || '0'
          order by lane_key(lane_id, concurrency_key) collate "C" limit 1) next
        where n < lane.most
      ), noted as (
        update queue q set arrange_behind = (select key from key where n = lane.most) from lane
        where q.workspace_id = lane.workspace_id and q.id = lane.id
      )
      select lane.workspace_id as "workspaceId", lane.id as "laneId", (select count(*) from key) = lane.most as more, (
        select arrange_keys(array_agg(lane.workspace_id), array_agg(lane.id), array_agg(key.key)) from lane cross join key) as arranged
      from lane`,
  );

/**
 * Lanes that have claimable jobs and slots and starts free, found by one look per lane however many jobs wait in it. One whose
 * circuit is open is among them when its next probe is due. Leans on job_claimable.
 */
export const findLanesWithWorkAcrossWorkspaces = async (db: Db): Promise<LaneKey[]> =>
  (
    await rows<{ workspace_id: WorkspaceId; lane_id: LaneId }>(
      db,
      sql`
        with recursive lane as (
          (select workspace_id, lane_id from job
            where state = 'waiting' and (concurrency_key is null or key_slot is not null)
            order by workspace_id, lane_id limit 1)
          union all
          select next.workspace_id, next.lane_id from lane cross join lateral (
            select workspace_id, lane_id from job
            where state = 'waiting' and (concurrency_key is null or key_slot is not null)
              and (workspace_id, lane_id) > (lane.workspace_id, lane.lane_id)
            order by workspace_id, lane_id limit 1) next
        )
        select lane.workspace_id, lane.lane_id from lane
        join lane_gate g on g.workspace_id = lane.workspace_id and g.lane_id = lane.lane_id
          and not g.paused and g.has_handler and g.plan = any(${DELIVERING_PLANS})
          and g.slots_free is distinct from 0 and g.starts_free is distinct from 0
        where not exists (
          select from circuit c where c.workspace_id = lane.workspace_id and c.lane_id = lane.lane_id and c.probe_at > moment())`,
    )
  ).map(({ workspace_id, lane_id }) => ({ workspaceId: workspace_id, laneId: lane_id }));

/**
 * Takes back the claims of nodes: of one that gives them back, or of all whose lease has run out. The attempt is logged and
 * spared. A job that `mostLosses` nodes were lost with goes to the dead-letter queue. Leans on job_active.
 */
export const takeBackAcrossWorkspaces = (
  db: Db,
  {
    nodeId,
    outcome,
    error,
    mostLosses,
    most,
  }: { nodeId: number | null; outcome: "lost" | "released"; error: string | null; mostLosses: number; most: number },
): Promise<{ workspace_id: WorkspaceId; lane_id: LaneId; state: JobState; jobs: number }[]> =>
  rows(
    db,
    sql`
      with held as (
        select workspace_id, lane_id, id from job
        where state = 'active' and node_id = any(
          select id from node where id = ${nodeId} or (${nodeId}::bigint is null and lease_until <= now()))
        limit ${most} for update skip locked
      ), moved as (
        update job j set
          state = case when ${outcome === "lost"}::boolean and node_losses + 1 >= ${mostLosses} then 'failed' else 'waiting' end::job_state,
          finished_at = case when ${outcome === "lost"}::boolean and node_losses + 1 >= ${mostLosses} then moment() end,
          node_id = null, key_slot = null, spared = spared + 1, node_losses = node_losses + ${outcome === "lost" ? 1 : 0}::int,
          last_error = coalesce(${error}, last_error), error_code = coalesce(${error}::json ->> 'code', error_code),
          attempts_log = concat_ws(',', nullif(attempts_log, ''), json_build_object('attempt', attempt, 'started_at',
            to_char(started_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'duration_ms', round((extract(epoch from moment() - started_at) * 1000)::numeric, 2), 'outcome', ${outcome}::text,
            'status', null, 'error', ${error}::json, 'worker', null)::text)
        from held where j.workspace_id = any(array[held.workspace_id]) and j.lane_id = held.lane_id and j.id = held.id
        returning j.workspace_id, j.lane_id, j.state, j.concurrency_key
      ), counted as (
        insert into tally (workspace_id, lane_id, at, failed)
        select workspace_id, lane_id, moment(), count(*) from moved where state = 'failed' group by workspace_id, lane_id
      )
      select workspace_id, lane_id, state, count(*) as jobs, (
        select arrange_keys(array_agg(workspace_id), array_agg(lane_id), array_agg(concurrency_key)) from moved
        where concurrency_key is not null) as arranged
      from moved group by workspace_id, lane_id, state`,
  );

/**
 * Moves delayed jobs that have come due into the claimable set, and tells when the next one is due: milliseconds from now, null
 * when none is delayed. Leans on job_due.
 */
export async function moveDueAcrossWorkspaces(db: Db, most: number): Promise<{ moved: number; lanes: LaneKey[]; nextInMs: number | null }> {
  const found = await rows<{ workspace_id: WorkspaceId | null; lane_id: LaneId | null; jobs: number; next_ms: number | null }>(
    db,
    sql`
      with due as (
        select workspace_id, lane_id, id from job where state = 'delayed' and run_at <= moment()
        order by run_at limit ${most} for update skip locked
      ), moved as (
        update job j set state = 'waiting' from due
        where j.workspace_id = any(array[due.workspace_id]) and j.lane_id = due.lane_id and j.id = due.id
        returning j.workspace_id, j.lane_id, j.concurrency_key
      )
      select workspace_id, lane_id, count(*) as jobs, null::float8 as next_ms, (
        select arrange_keys(array_agg(workspace_id), array_agg(lane_id), array_agg(concurrency_key)) from moved
        where concurrency_key is not null) as arranged
      from moved group by workspace_id, lane_id
      union all
      (select null, null, 0, (extract(epoch from run_at - moment()) * 1000)::float8, null from job
        where state = 'delayed' and run_at > moment() order by run_at limit 1)`,
  );
  const lanes = found.flatMap(({ workspace_id, lane_id }) =>
    workspace_id && lane_id ? [{ workspaceId: workspace_id, laneId: lane_id }] : [],
  );
  return {
    moved: found.reduce((sum, { jobs }) => sum + jobs, 0),
    lanes,
    nextInMs: found.find(({ next_ms }) => next_ms !== null)?.next_ms ?? null,
  };
}

/** What a node's lease statements answer: its own id, the other live nodes, the database's time, and the vault's master key. */
export interface LeaseRow {
  id: number;
  peers: number;
  now_ms: number;
  vault_key: string | null;
}

/** A rotation of the master key that has not counted this node is waited for: the key that it leads to is answered. */
export const registerNode = (db: Db, leaseSeconds: number, masterKeyIds: readonly string[]): Promise<LeaseRow | null> =>
  row(
    db,
    sql`
      with vault as (select master_key_id from vault for share)
      insert into node (lease_until, master_key_ids) values (now() + ${leaseSeconds} * interval '1 second', ${textArray(masterKeyIds)})
      returning id, (select count(*) from node where lease_until > now()) as peers,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms, (select master_key_id from vault) as vault_key`,
  );

/** Nothing when the lease has run out: it is never taken up again, for others may be at its jobs. */
export const renewLease = (db: Db, nodeId: number, leaseSeconds: number, masterKeyIds: readonly string[]): Promise<LeaseRow | null> =>
  row(
    db,
    sql`
      update node set lease_until = now() + ${leaseSeconds} * interval '1 second', master_key_ids = ${textArray(masterKeyIds)}
      where id = ${nodeId} and lease_until > now()
      returning id, (select count(*) from node where lease_until > now()) - 1 as peers,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms, (select master_key_id from vault) as vault_key`,
  );

/** Ends a node's lease at once. */
export const endLease = (db: Db, nodeId: number): Promise<unknown> =>
  row(db, sql`update node set lease_until = now() where id = ${nodeId}`);

/** Forgets nodes long dead that hold nothing. */
export const forgetNodes = (db: Db): Promise<unknown> =>
  row(
    db,
    sql`
      delete from node n where lease_until < now() - interval '1 hour'
        and not exists (select from job where state = 'active' and job.node_id = n.id)`,
  );

export const notifyNodes = (db: Db, channel: string, message: string): Promise<unknown> =>
  row(db, sql`select pg_notify(${channel}, ${message})`);
