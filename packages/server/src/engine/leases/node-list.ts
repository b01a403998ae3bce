import type { NodeRecord } from "@tidemill/contract";
import { type Db, fragment, rows, sql } from "#kernel";

/** A lease that its process has replaced with a newer one does not count as a node. */
const IS_NEWEST = fragment`not exists (select from node newer where newer.process = n.process and newer.lease_id > n.lease_id)`;

/**
 * Nodes, those of the newest leases first: all that run, and those that ended within the last hour. What they have in flight belongs to
 * all workspaces. Uses the primary keys and indexes node_process and job_active.
 */
export const listNodesAcrossWorkspaces = (db: Db, after: number | null, limit: number): Promise<NodeRecord[]> =>
  rows(
    db,
    sql`
      select n.lease_id as id,
        case when l.expires_at > now() then case when n.draining_at is null then 'alive' else 'draining' end
          when n.stopped then 'stopped' else 'lost' end as state,
        n.host, n.url, n.version, n.started_at, n.seen_at as last_seen_at, case when l.expires_at <= now() then l.expires_at end as ended_at,
        (select count(*) from job where job.lease_id = n.lease_id and job.state = 'active') as in_flight,
        n.max_in_flight, n.memory_bytes, n.max_memory_bytes
      from node n join lease l on l.id = n.lease_id
      where (${after}::bigint is null or n.lease_id < ${after}) and ${IS_NEWEST}
      order by n.lease_id desc limit ${limit}`,
  );
