import { type Db, row, sql } from "#kernel";

/** What all workspaces have together. */
export interface ServiceTotals {
  readonly waiting: number;
  readonly delayed: number;
  readonly pending_approval: number;
  readonly failed: number;
  /** How long the longest waiting job had waited, at most, when it was sampled within the last two minutes. Null: no job waited. */
  readonly oldest_seconds: number | null;
  readonly open_circuits: number;
  readonly nodes: number;
}

/**
 * Sums the kept counts of all queues (docs/decisions/0037-kept-counts.md); only active jobs are counted, by their leases. Executions of runs
 * and deliveries of webhooks do not count as jobs. Uses the primary keys, and indexes job_active and job_metric_age.
 */
export async function readServiceTotalsAcrossWorkspaces(db: Db): Promise<ServiceTotals> {
  const totals = await row<ServiceTotals>(
    db,
    sql`
      with kept as (
        select coalesce(sum(c.live), 0)::bigint as live, coalesce(sum(c.delayed), 0)::bigint as delayed,
          coalesce(sum(c.pending_approval), 0)::bigint as pending_approval, coalesce(sum(c.dead), 0)::bigint as failed
        from job_count_now c cross join lateral (
          select from lane where workspace_id = any(array[c.workspace_id]) and id = c.lane_id and kind = 'queue'
            and coalesce(deleted_at, 'infinity') = 'infinity' offset 0) l
      ), active as (
        select count(*) as active from lease join job j on j.lease_id = lease.id and j.state = 'active'
        cross join lateral (
          select from lane where workspace_id = any(array[j.workspace_id]) and id = j.lane_id and kind = 'queue' and deleted_at is null offset 0) l
      )
      select greatest(0, kept.live - active.active) as waiting, kept.delayed, kept.pending_approval, kept.failed,
        (select max(oldest_seconds)::float8 from job_metric
          where span = 60 and at >= date_trunc('minute', moment()) - interval '1 minute' and lane_id = 0) as oldest_seconds,
        (select count(*) from circuit c cross join lateral (
          select from lane where workspace_id = any(array[c.workspace_id]) and id = c.lane_id and deleted_at is null offset 0) l) as open_circuits,
        (select count(*) from lease where holder = 'node' and expires_at > now()) as nodes
      from kept, active`,
  );
  if (!totals) throw new Error("The query of totals returned no row.");
  return totals;
}
