import { type Db, type JobId, MAX_PAGE_BYTES, plainArray, row, rows, sql, textArray, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { distinctLanes, type LaneName, laneName } from "../distinct-lanes.ts";
import type { JobRow } from "../job.ts";

/** An idempotency key, and the first job that was sent with it. */
export interface KeyClaim {
  readonly workspaceId: WorkspaceId;
  readonly queue: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly jobId: JobId;
}

/** Identifies a key over all workspaces and queues. */
export const keyName = (key: Pick<KeyClaim, "workspaceId" | "queue" | "key">): string => `${laneName(key)} ${key.key}`;

/** The primary key of an idempotency key in the database. */
export interface LaneIdempotencyKey {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
  readonly key: string;
}

/** The job of a key, as it is now. Its payload is left out: a request with the same fingerprint has the same payload. */
export interface ExistingJob {
  readonly record: Omit<JobRow, "payload">;
  readonly fingerprint: string;
}

/**
 * Takes the keys that are free. All nodes take them in one order. If another transaction is taking a key, the insert waits for its end:
 * if it commits, a later statement sees its key; if not, the key is free. Uses index lane_name and the primary key.
 *
 * @returns the lanes of the queues that exist, by `laneName`; and the jobs whose key was taken
 */
export async function claimKeysAcrossWorkspaces(
  tx: Db,
  queues: readonly LaneName[],
  claims: readonly KeyClaim[],
): Promise<{ lanes: ReadonlyMap<string, LaneId>; won: ReadonlySet<JobId> }> {
  const { distinct, laneOf } = distinctLanes<LaneName>([...queues, ...claims]);
  const claimed = await row<{ lanes: string[]; won: JobId[] | null }>(
    tx,
    sql`
      with named as (
        select array_agg(r.workspace_id order by r.at) as workspace_id, array_agg(coalesce(q.id, 0) order by r.at) as id,
          array_agg(moment() + coalesce(q.retention_days, 30) * interval '1 day' + interval '1 hour' order by r.at) as check_at
        from unnest(${plainArray(distinct.map(({ workspaceId }) => workspaceId))}::uuid[], ${textArray(distinct.map(({ queue }) => queue))}::text[])
          with ordinality r (workspace_id, queue, at)
        left join lateral (
          select id, (select retention_days from workspace w where w.id = r.workspace_id) from lane
          where lane.workspace_id = r.workspace_id and lane.kind = 'queue' and lane.name = r.queue and lane.deleted_at is null offset 0
        ) q on true
      ), won as (
        insert into idempotency_key (workspace_id, lane_id, key, job_id, fingerprint, check_at)
        select named.workspace_id[n.lane], named.id[n.lane], n.key, n.job_id, decode(n.fingerprint, 'hex'), named.check_at[n.lane]
        from named cross join unnest(${plainArray(laneOf.slice(queues.length).map((lane) => lane + 1))}::int[],
          ${textArray(claims.map(({ key }) => key))}::text[], ${plainArray(claims.map(({ jobId }) => jobId))}::uuid[],
          ${plainArray(claims.map(({ fingerprint }) => fingerprint))}::text[]) as n (lane, key, job_id, fingerprint)
        where named.id[n.lane] > 0
        order by 2, 3
        on conflict do nothing
        returning job_id
      )
      select named.id as lanes, (select array_agg(job_id) from won) as won from named`,
  );
  if (!claimed) throw new Error("The claim of idempotency keys returned no row.");
  const lanes = distinct.flatMap((queue, at): [string, LaneId][] => {
    const id = Number(claimed.lanes[at]);
    return id === 0 ? [] : [[laneName(queue), id as LaneId]];
  });
  return { lanes: new Map(lanes), won: new Set(claimed.won) };
}

/** The jobs of these keys. Null for a key that no longer exists, or whose job no longer exists. Uses the primary keys. */
export async function findExistingAcrossWorkspaces(tx: Db, keys: readonly LaneIdempotencyKey[]): Promise<(ExistingJob | null)[]> {
  const found = await rows<ExistingJob["record"] & { at: number; fingerprint: string }>(
    tx,
    sql`
      select n.at, encode(k.fingerprint, 'hex') as fingerprint, r.*,
        case when sum(octet_length(r.result)) over (partition by n.workspace_id order by n.at) <= ${MAX_PAGE_BYTES}::int then r.result end as result
      from unnest(${plainArray(keys.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(keys.map(({ laneId }) => laneId))}::bigint[],
        ${textArray(keys.map(({ key }) => key))}::text[]) with ordinality n (workspace_id, lane_id, key, at)
      join idempotency_key k on k.workspace_id = n.workspace_id and k.lane_id = n.lane_id and k.key = n.key
      cross join lateral (
        select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key, result,
          last_error, schedule, scheduled_for, idempotency_key, approval
        from job_record j where j.workspace_id = k.workspace_id and j.lane_id = k.lane_id and j.id = k.job_id offset 0
      ) r`,
  );
  const known = new Map(found.map(({ at, fingerprint, ...record }) => [at, { fingerprint, record }]));
  return keys.map((_, index) => known.get(index + 1) ?? null);
}

/** Releases keys that this transaction has taken. Uses the primary key. */
export const releaseKeysAcrossWorkspaces = (tx: Db, keys: readonly LaneIdempotencyKey[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      delete from idempotency_key where ctid = any(array(
        select k.ctid
        from unnest(${plainArray(keys.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(keys.map(({ laneId }) => laneId))}::bigint[],
          ${textArray(keys.map(({ key }) => key))}::text[]) n (workspace_id, lane_id, key)
        join idempotency_key k on k.workspace_id = n.workspace_id and k.lane_id = n.lane_id and k.key = n.key))`,
  );

/** Deletes these keys if their job no longer exists. Keys that another transaction has locked are skipped. Uses the primary keys. */
export const freeKeysAcrossWorkspaces = (db: Db, keys: readonly LaneIdempotencyKey[]): Promise<unknown> =>
  rows(
    db,
    sql`
      delete from idempotency_key where ctid = any(array(
        select k.ctid
        from unnest(${plainArray(keys.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(keys.map(({ laneId }) => laneId))}::bigint[],
          ${textArray(keys.map(({ key }) => key))}::text[]) n (workspace_id, lane_id, key)
        join idempotency_key k on k.workspace_id = n.workspace_id and k.lane_id = n.lane_id and k.key = n.key
        left join lateral (
          select id from job_record j where j.workspace_id = k.workspace_id and j.lane_id = k.lane_id and j.id = k.job_id offset 0
        ) r on true
        where r.id is null
        for update of k skip locked))`,
  );

/** Whether any key is due to be checked. Uses index idempotency_key_check. */
export const isKeyDueAcrossWorkspaces = async (db: Db): Promise<boolean> =>
  (await row(db, sql`select from idempotency_key where check_at <= moment() order by check_at limit 1`)) !== null;

/**
 * Checks the keys that are due, and deletes those whose job no longer exists. A key is locked before it is checked, so the deleted row is
 * the checked one, even if its key is taken again. Locked keys are skipped. Returns how many were checked. Uses index idempotency_key_check
 * and the primary keys.
 */
export const sweepIdempotencyKeysAcrossWorkspaces = async (db: Db, limit: number): Promise<number> =>
  (
    await row<{ checked: number }>(
      db,
      sql`
        with due as (
          select ctid, workspace_id, lane_id, job_id from idempotency_key
          where check_at <= moment() order by check_at limit ${limit} for update skip locked
        ), found as (
          select d.ctid, l.id is not null as live, h.expires_at
          from due d
          left join lateral (
            select id from job where job.workspace_id = d.workspace_id and job.lane_id = d.lane_id and job.id = d.job_id offset 0
          ) l on true
          left join lateral (
            select max(expires_at) as expires_at from job_history h
            where h.workspace_id = d.workspace_id and h.lane_id = d.lane_id and h.id = d.job_id and h.expires_at > moment()
          ) h on true
        ), forgotten as (
          delete from idempotency_key where ctid = any(array(select ctid from found where not live and expires_at is null))
        ), kept as (
          update idempotency_key k set check_at = least(f.expires_at, moment() + interval '7 days')
          from found f where k.ctid = f.ctid and (f.live or f.expires_at is not null)
        )
        select count(*) as checked from due`,
    )
  )?.checked ?? 0;
