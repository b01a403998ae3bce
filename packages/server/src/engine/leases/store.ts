import { type Db, row, sql, textArray } from "#kernel";
import type { NodeFacts, NodeLoad } from "./node-facts.ts";

/** A node's lease, the leases of other live nodes, the database's time, and the vault's master key. */
export interface NodeLeaseRow {
  id: number;
  peers: string[];
  now_ms: number;
  vault_key: string | null;
}

/** What a new lease of a node is opened with. */
export interface NewNode extends NodeFacts {
  readonly leaseSeconds: number;
  readonly masterKeyIds: readonly string[];
  /** How long ago the node started. Seconds. */
  readonly ageSeconds: number;
  /** Where it can be reached. */
  readonly url: string;
}

/** Opens a node's lease. It waits for a rotation of the master key that is under way, and returns the new key. */
export const registerNode = (
  db: Db,
  { leaseSeconds, masterKeyIds, ageSeconds, process, host, version, maxMemoryBytes, maxInFlight, url }: NewNode,
  { memoryBytes, isDraining }: NodeLoad,
): Promise<NodeLeaseRow | null> =>
  row(
    db,
    sql`
      with vault as (select master_key_id from vault for share),
      opened as (
        insert into lease (holder, expires_at) values ('node', now() + ${leaseSeconds} * interval '1 second') returning id
      ), registered as (
        insert into node (lease_id, master_key_ids, process, host, version, started_at, seen_at, memory_bytes, max_memory_bytes,
          max_in_flight, url, draining_at)
        select id, ${textArray(masterKeyIds)}, ${process}, ${host}, ${version}, now() - ${ageSeconds} * interval '1 second', now(),
          ${memoryBytes}, ${maxMemoryBytes}, ${maxInFlight}, ${url}, case when ${isDraining} then now() end
        from opened
      )
      select id, array(select id from lease where holder = 'node' and expires_at > now()) as peers,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms, (select master_key_id from vault) as vault_key
      from opened`,
  );

/**
 * Renews a node's lease. Returns null when it has expired: it never becomes valid again, since others may hold its jobs by now. Uses the
 * primary keys.
 */
export const renewNode = (
  db: Db,
  leaseId: number,
  { leaseSeconds, masterKeyIds }: Pick<NewNode, "leaseSeconds" | "masterKeyIds">,
  { memoryBytes, isDraining }: NodeLoad,
): Promise<NodeLeaseRow | null> =>
  row(
    db,
    sql`
      with renewed as (
        update lease set expires_at = now() + ${leaseSeconds} * interval '1 second' where id = ${leaseId} and expires_at > now() returning id
      ), registered as (
        update node set master_key_ids = ${textArray(masterKeyIds)}, seen_at = now(), memory_bytes = ${memoryBytes},
          draining_at = case when ${isDraining} then coalesce(draining_at, now()) end
        from renewed where node.lease_id = renewed.id
      )
      select id, array(select id from lease where holder = 'node' and expires_at > now() and id <> ${leaseId}) as peers,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms, (select master_key_id from vault) as vault_key
      from renewed`,
  );

/**
 * What the tokens of a node's executions are derived from: null for the lease of a worker. Undefined: there is no such lease yet, or no
 * longer. Uses the primary keys.
 */
export const findNodeSecret = async (db: Db, leaseId: number): Promise<Buffer | null | undefined> =>
  (await row<{ secret: Buffer | null }>(db, sql`select secret from lease l left join node n on n.lease_id = l.id where l.id = ${leaseId}`))
    ?.secret;

/** Ends the lease of a node that stops. Claims still under it are treated as those of an expired lease. Uses the primary keys. */
export const endNode = (db: Db, leaseId: number): Promise<unknown> =>
  row(
    db,
    sql`
      with ended as (update lease set expires_at = now() where id = ${leaseId} returning id)
      update node set stopped = true from ended where node.lease_id = ended.id`,
  );

/** Deletes leases that expired over an hour ago and hold no claims, and their nodes. Uses index job_active. */
export const removeOldLeases = (db: Db): Promise<unknown> =>
  row(
    db,
    sql`
      delete from lease l where expires_at < now() - interval '1 hour'
        and not exists (select from job where state = 'active' and job.lease_id = l.id)`,
  );

/** Where a node that is alive can be reached, one of this host if there is any. Null: none is alive. Uses the primary keys. */
export const findNodeUrl = async (db: Db, host: string): Promise<string | null> =>
  (
    await row<{ url: string }>(
      db,
      sql`
        select n.url from node n join lease l on l.id = n.lease_id
        where l.expires_at > now() and n.url is not null order by n.host = ${host} desc nulls last, n.lease_id desc limit 1`,
    )
  )?.url ?? null;

/** How many nodes are alive. */
export const countNodes = async (db: Db): Promise<number> =>
  (await row<{ nodes: number }>(db, sql`select count(*) as nodes from lease where holder = 'node' and expires_at > now()`))?.nodes ?? 0;

/** How many live nodes do not have a master key. */
export const countNodesWithout = async (db: Db, masterKeyId: string): Promise<number> =>
  (
    await row<{ nodes: number }>(
      db,
      sql`
        select count(*) as nodes from lease join node on node.lease_id = lease.id
        where lease.expires_at > now() and not ${masterKeyId} = any(node.master_key_ids)`,
    )
  )?.nodes ?? 0;
