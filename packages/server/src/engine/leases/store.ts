import { type Db, row, sql, textArray } from "#kernel";

/** A node's lease, the number of other live nodes, the database's time, and the vault's master key. */
export interface NodeLeaseRow {
  id: number;
  peers: number;
  now_ms: number;
  vault_key: string | null;
}

/** Opens a node's lease. It waits for a rotation of the master key that is under way, and returns the new key. */
export const registerNode = (db: Db, leaseSeconds: number, masterKeyIds: readonly string[]): Promise<NodeLeaseRow | null> =>
  row(
    db,
    sql`
      with vault as (select master_key_id from vault for share),
      opened as (
        insert into lease (holder, expires_at) values ('node', now() + ${leaseSeconds} * interval '1 second') returning id
      ), registered as (
        insert into node (lease_id, master_key_ids) select id, ${textArray(masterKeyIds)} from opened
      )
      select id, (select count(*) from lease where holder = 'node' and expires_at > now()) as peers,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms, (select master_key_id from vault) as vault_key
      from opened`,
  );

/**
 * Renews a node's lease. Returns null when it has expired: it never becomes valid again, since others may hold its jobs by now. Uses the
 * primary keys.
 */
export const renewNode = (db: Db, leaseId: number, leaseSeconds: number, masterKeyIds: readonly string[]): Promise<NodeLeaseRow | null> =>
  row(
    db,
    sql`
      with renewed as (
        update lease set expires_at = now() + ${leaseSeconds} * interval '1 second' where id = ${leaseId} and expires_at > now() returning id
      ), registered as (
        update node set master_key_ids = ${textArray(masterKeyIds)} from renewed
        where node.lease_id = renewed.id and node.master_key_ids <> ${textArray(masterKeyIds)}::text[]
      )
      select id, (select count(*) from lease where holder = 'node' and expires_at > now()) - 1 as peers,
        (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms, (select master_key_id from vault) as vault_key
      from renewed`,
  );

/** What the tokens of a node's executions are derived from. Null when the lease is none of a node. Uses the primary key. */
export const findNodeSecret = async (db: Db, leaseId: number): Promise<Buffer | null> =>
  (await row<{ secret: Buffer }>(db, sql`select secret from node where lease_id = ${leaseId}`))?.secret ?? null;

/** Ends a lease now. Claims still under it are treated as those of an expired lease. */
export const endLease = (db: Db, leaseId: number): Promise<unknown> =>
  row(db, sql`update lease set expires_at = now() where id = ${leaseId}`);

/** Deletes leases that expired over an hour ago and hold no claims, and their nodes. Uses index job_active. */
export const removeOldLeases = (db: Db): Promise<unknown> =>
  row(
    db,
    sql`
      delete from lease l where expires_at < now() - interval '1 hour'
        and not exists (select from job where state = 'active' and job.lease_id = l.id)`,
  );

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
