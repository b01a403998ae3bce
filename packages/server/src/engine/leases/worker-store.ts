import { type Db, plainArray, rows, sql, type Timestamp, textArray, type WorkspaceId } from "#kernel";

/** How long after its last call a worker is listed. Minutes. */
export const WORKER_LISTED_MINUTES = 15;

/** A worker as it last called. */
export interface WorkerCall {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  readonly version: string | null;
  /** What it asked for lately. Both are empty if that is nothing. */
  readonly queues: readonly string[];
  readonly workflows: readonly string[];
  readonly seenAt: Timestamp;
}

/** A worker's lease, what its tokens contain, and the version of its code. */
export interface WorkerLease {
  readonly workspaceId: WorkspaceId;
  readonly name: string;
  readonly leaseId: number;
  readonly secret: Buffer;
  readonly version: string | null;
}

/** Writes when workers called, and the queues and workflows that they asked for lately. A new worker gets a lease. Uses index lease_worker. */
export const recordCallsAcrossWorkspaces = (db: Db, calls: readonly WorkerCall[]): Promise<WorkerLease[]> =>
  rows(
    db,
    sql`
      with call as (
        select * from unnest(${plainArray(calls.map((one) => one.workspaceId))}::uuid[], ${textArray(calls.map((one) => one.name))}::text[],
          ${textArray(calls.map((one) => one.version))}::text[], ${textArray(calls.map((one) => JSON.stringify(one.queues)))}::text[],
          ${textArray(calls.map((one) => JSON.stringify(one.workflows)))}::text[],
          ${textArray(calls.map((one) => one.seenAt))}::timestamptz[]) c (workspace_id, worker, version, queues, workflows, seen_at)
      ), opened as (
        insert into lease (holder, workspace_id, worker, expires_at)
        select 'worker', workspace_id, worker, now() + ${WORKER_LISTED_MINUTES} * interval '1 minute' from call order by workspace_id, worker
        on conflict (workspace_id, worker) where workspace_id is not null do update set expires_at = excluded.expires_at
        returning id, workspace_id, worker
      ), recorded as (
        insert into worker (lease_id, version, queues, workflows, last_seen_at)
        select o.id, c.version, array(select json_array_elements_text(c.queues::json)),
          array(select json_array_elements_text(c.workflows::json)), c.seen_at
        from opened o join call c on c.workspace_id = o.workspace_id and c.worker = o.worker
        on conflict (lease_id) do update set version = excluded.version, last_seen_at = excluded.last_seen_at,
          queues = case when excluded.queues = '{}' and excluded.workflows = '{}' then worker.queues else excluded.queues end,
          workflows = case when excluded.queues = '{}' and excluded.workflows = '{}' then worker.workflows else excluded.workflows end
        returning lease_id, secret, version
      )
      select o.workspace_id as "workspaceId", o.worker as name, o.id as "leaseId", r.secret, r.version from opened o join recorded r on r.lease_id = o.id`,
  );

/** Finds a worker by its lease. Uses the primary keys. */
export const findWorkers = (db: Db, workspaceId: WorkspaceId, leaseIds: readonly number[]): Promise<WorkerLease[]> =>
  rows(
    db,
    sql`
      select l.workspace_id as "workspaceId", l.worker as name, l.id as "leaseId", w.secret, w.version
      from lease l join worker w on w.lease_id = l.id
      where l.id = any(${plainArray(leaseIds)}::bigint[]) and l.workspace_id = ${workspaceId}`,
  );
