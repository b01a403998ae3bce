import { type Db, fragment, type JobId, MAX_PAGE_BYTES, plainArray, row, rows, sql, textArray, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { JobRow } from "../job.ts";

/** The primary key of a batch's idempotency key. */
export interface BatchKey {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
  readonly key: string;
}

/** A key to be taken, and the batch that wants it. */
export interface BatchKeyClaim extends BatchKey {
  readonly fingerprint: string;
  readonly jobIds: readonly JobId[];
}

/** A batch that was stored with its key. */
export interface StoredBatch {
  readonly fingerprint: string;
  /** Its jobs as they are now, in the order sent, without payloads. Null for a job that was removed. */
  readonly jobs: readonly (
    | { readonly id: JobId; readonly record: Omit<JobRow, "payload"> }
    | { readonly id: JobId; readonly record: null }
  )[];
}

/** When a key that is taken now expires. */
const BATCH_KEY_EXPIRY = fragment`moment() + interval '1 day'`;

/** What the insert of jobs also does when batches have keys: it takes the keys, and inserts the batches that got theirs. */
export const KEYED = {
  isKeyed: true,
  claimed: fragment`claimed as (
        insert into batch_key (workspace_id, lane_id, key, job_ids, fingerprint, expires_at)
        select workspace_id, named.id[lane], key, job_ids::uuid[], decode(fingerprint, 'hex'), ${BATCH_KEY_EXPIRY}
        from named cross join batches where named.id[lane] > 0
        order by 2, 3
        on conflict do nothing
        returning lane_id, job_ids
      ),`,
  // As `is true` it is looked up in a hash table. Otherwise it would be a join, which compares each job with every other.
  mayInsert: fragment`and (n.id in (select unnest(job_ids) from claimed)) is true`,
  accepted: fragment`coalesce((select sum(cardinality(job_ids)) from claimed where claimed.lane_id = named.id[n.at]), 0)`,
  won: fragment`(select array_agg(job_ids[1]) from claimed)`,
};
export const KEYLESS: typeof KEYED = {
  isKeyed: false,
  claimed: fragment``,
  mayInsert: fragment``,
  accepted: fragment`n.jobs`,
  won: fragment`null::uuid[]`,
};

/**
 * Takes the keys that are free, in the order of lanes and keys. If another transaction is taking a key, the insert waits for its end.
 * Uses the primary key.
 *
 * @returns the first jobs of the batches that got their keys
 */
export async function claimBatchKeysAcrossWorkspaces(tx: Db, claims: readonly BatchKeyClaim[]): Promise<ReadonlySet<JobId>> {
  const claimed = await rows<{ first: JobId }>(
    tx,
    sql`
      insert into batch_key (workspace_id, lane_id, key, job_ids, fingerprint, expires_at)
      select n.workspace_id, n.lane_id, n.key, n.job_ids::uuid[], decode(n.fingerprint, 'hex'), ${BATCH_KEY_EXPIRY}
      from unnest(${plainArray(claims.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(claims.map(({ laneId }) => laneId))}::bigint[],
        ${textArray(claims.map(({ key }) => key))}::text[], ${textArray(claims.map(({ jobIds }) => plainArray(jobIds)))}::text[],
        ${plainArray(claims.map(({ fingerprint }) => fingerprint))}::text[]) as n (workspace_id, lane_id, key, job_ids, fingerprint)
      order by 2, 3
      on conflict do nothing
      returning job_ids[1] as first`,
  );
  return new Set(claimed.map(({ first }) => first));
}

/** Releases keys that this transaction has taken. Uses the primary key. */
export const releaseBatchKeysAcrossWorkspaces = (tx: Db, keys: readonly BatchKey[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      delete from batch_key k
      using unnest(${plainArray(keys.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(keys.map(({ laneId }) => laneId))}::bigint[],
        ${textArray(keys.map(({ key }) => key))}::text[]) n (workspace_id, lane_id, key)
      where k.workspace_id = n.workspace_id and k.lane_id = n.lane_id and k.key = n.key`,
  );

/**
 * The batches that were stored with these keys. Null for a key that is no longer known. Results beyond 4 MiB per workspace are left out.
 * Uses the primary keys.
 */
export async function findBatchesAcrossWorkspaces(db: Db, keys: readonly BatchKey[]): Promise<(StoredBatch | null)[]> {
  const found = await rows<Omit<JobRow, "payload" | "id"> & { at: number; fingerprint: string; job_id: JobId; id: JobId | null }>(
    db,
    sql`
      select n.at, encode(k.fingerprint, 'hex') as fingerprint, i.job_id, r.*,
        case when sum(octet_length(r.result)) over (partition by n.workspace_id order by n.at, i.place) <= ${MAX_PAGE_BYTES}::int then r.result end
          as result
      from unnest(${plainArray(keys.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(keys.map(({ laneId }) => laneId))}::bigint[],
        ${textArray(keys.map(({ key }) => key))}::text[]) with ordinality n (workspace_id, lane_id, key, at)
      join batch_key k on k.workspace_id = n.workspace_id and k.lane_id = n.lane_id and k.key = n.key
      cross join lateral unnest(k.job_ids) with ordinality i (job_id, place)
      left join lateral (
        select id, state, priority, attempt, spared, attempts, run_at, created_at, started_at, finished_at, tag, concurrency_key, result,
          last_error, schedule, scheduled_for, idempotency_key, approval
        from job_record j where j.workspace_id = k.workspace_id and j.lane_id = k.lane_id and j.id = i.job_id offset 0
      ) r on true
      order by n.at, i.place`,
  );
  const byKey = Map.groupBy(found, ({ at }) => Number(at));
  return keys.map((_, index) => {
    const jobs = byKey.get(index + 1);
    const [first] = jobs ?? [];
    if (!jobs || !first) return null;
    return {
      fingerprint: first.fingerprint,
      jobs: jobs.map(({ at: _at, fingerprint: _fingerprint, job_id, ...record }) =>
        record.id === null ? { id: job_id, record: null } : { id: job_id, record: { ...record, id: record.id } },
      ),
    };
  });
}

/** Deletes some keys that have expired. Keys that another transaction has locked are skipped. Returns how many. Uses index batch_key_expiry. */
export const deleteExpiredBatchKeysAcrossWorkspaces = async (db: Db, limit: number): Promise<number> =>
  (
    await row<{ keys: number }>(
      db,
      sql`
        with gone as (
          delete from batch_key where ctid = any(array(
            select ctid from batch_key where expires_at <= moment() order by expires_at limit ${limit} for update skip locked))
          returning key
        )
        select count(*) as keys from gone`,
    )
  )?.keys ?? 0;
