import type { Plan } from "@tidemill/contract";
import { type Db, plainArray, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";

interface LockedQuota {
  workspaceId: WorkspaceId;
  limit: number;
  plan: Plan;
  used: number;
  /** When the next month begins. */
  resetsAt: Timestamp;
  /** The largest share of the limit, in percent, that an event has reported. */
  reported: number;
  /** `used` was last counted before the limits changed, or less than a minute after. */
  stale: boolean;
}

/**
 * Locks this month's quotas of those workspaces that have a limit. All nodes lock in one order, so that they cannot deadlock. Uses
 * the primary keys.
 */
export async function lockQuotasAcrossWorkspaces(tx: Db, workspaceIds: readonly WorkspaceId[]): Promise<LockedQuota[]> {
  for (;;) {
    const found = await rows<Omit<LockedQuota, "workspaceId"> & { workspaceId: WorkspaceId | null; limited: number }>(
      tx,
      sql`
        with limited as (
          select id, executions_per_month, plan, limits_changed_at from workspace
          where id = any(${plainArray(workspaceIds)}::uuid[]) and executions_per_month is not null
        ), made as (
          insert into quota_month (workspace_id, month)
          select id, date_trunc('month', moment())::date from limited
          where not exists (select from quota_month q where q.workspace_id = id and q.month = date_trunc('month', moment())::date)
          order by id on conflict do nothing
        ), locked as (
          select q.workspace_id, q.used, q.reported_percent as reported, l.executions_per_month, l.plan,
            coalesce(q.counted_at < l.limits_changed_at + interval '1 minute', true) as stale
          from limited l join quota_month q on q.workspace_id = l.id and q.month = date_trunc('month', moment())::date
            and not exists (select from limited l where not exists (
              select from quota_month q where q.workspace_id = l.id and q.month = date_trunc('month', moment())::date))
          order by q.workspace_id for update of q
        )
        select workspace_id as "workspaceId", used, reported, executions_per_month as "limit", plan, stale,
          date_trunc('month', moment()) + interval '1 month' as "resetsAt", (select count(*) from limited) as limited
        from locked
        union all
        select null, 0, 0, 0, null, false, null, (select count(*) from limited) where not exists (select from locked)`,
    );
    const quotas = found.flatMap(({ workspaceId, limited: _, ...quota }) => (workspaceId ? [{ workspaceId, ...quota }] : []));
    // A statement does not see the rows that it inserted; the next round does. No row is locked until all exist, to keep the order.
    if (quotas.length === (found[0]?.limited ?? 0)) return quotas;
  }
}

/** Counts this month's executions from the usage. */
export async function countExecutionsAcrossWorkspaces(tx: Db, workspaceIds: readonly WorkspaceId[]): Promise<Map<WorkspaceId, number>> {
  const counted = await rows<{ id: WorkspaceId; executions: number }>(
    tx,
    sql`
      select id, (
          select coalesce(sum(jobs + schedules + workflows), 0)::bigint from usage
          where workspace_id = id and day >= date_trunc('month', moment())::date
            and day < (date_trunc('month', moment()) + interval '1 month')::date) as executions
      from unnest(${plainArray(workspaceIds)}::uuid[]) id`,
  );
  return new Map(counted.map(({ id, executions }) => [id, executions]));
}

export const storeUsedAcrossWorkspaces = (
  tx: Db,
  used: readonly { workspaceId: WorkspaceId; used: number; counted: boolean; reported: number }[],
): Promise<unknown> =>
  rows(
    tx,
    sql`
      update quota_month q set used = u.used, reported_percent = u.reported, counted_at = case when u.counted then moment() else counted_at end
      from unnest(${plainArray(used.map((one) => one.workspaceId))}::uuid[], ${plainArray(used.map((one) => one.used))}::bigint[],
        ${plainArray(used.map((one) => one.counted))}::boolean[], ${plainArray(used.map((one) => one.reported))}::smallint[])
        as u (workspace_id, used, counted, reported)
      where q.workspace_id = u.workspace_id and q.month = date_trunc('month', moment())::date`,
  );
