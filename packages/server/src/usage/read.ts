import type { Plan, Usage } from "@tidemill/contract";
import { type Db, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";

interface UsageRow {
  /** Null unless `part` is `day`. */
  day: string | null;
  /** Null unless `part` is `queue`. */
  queue: string | null;
  part: "total" | "day" | "queue";
  jobs: number;
  schedules: number;
  workflows: number;
  succeeded: number;
  failed: number;
}

const MAX_QUEUES = 1_000;

/**
 * Reads a workspace's usage in a month: folded and unfolded rows, in one statement. Runs count in the total and by day, not by queue. Uses
 * the primary key of usage_day and index usage_delta_workspace.
 *
 * @param period `YYYY-MM`; null is the current month
 */
export async function readUsage(db: Db, workspaceId: WorkspaceId, period: string | null): Promise<Usage> {
  const terms = await row<{ plan: Plan; limit: number | null; start: Timestamp; end: Timestamp }>(
    db,
    sql`
      select plan, executions_per_month as limit, start, start + interval '1 month' as end
      from workspace, date_trunc('month', coalesce(${period && `${period}-01`}::timestamptz, moment())) start where id = ${workspaceId}`,
  );
  if (!terms) throw new Error("The workspace of a valid key does not exist.");
  const sums = await rows<UsageRow>(
    db,
    sql`
      with month as (
        select u.day, coalesce(u.queue, l.name, '') as queue, u.jobs, u.schedules, u.workflows, u.succeeded, u.failed
        from usage u left join lane l on l.workspace_id = u.workspace_id and l.id = u.lane_id
        where u.workspace_id = ${workspaceId} and u.day >= ${terms.start}::date and u.day < ${terms.end}::date
      )
      select day::text, queue, case when grouping(day) = 0 then 'day' when grouping(queue) = 0 then 'queue' else 'total' end as part,
        coalesce(sum(jobs), 0)::bigint as jobs, coalesce(sum(schedules), 0)::bigint as schedules, coalesce(sum(workflows), 0)::bigint as workflows,
        coalesce(sum(succeeded), 0)::bigint as succeeded, coalesce(sum(failed), 0)::bigint as failed
      from month group by grouping sets ((day), (queue), ())
      order by day, sum(jobs + schedules) desc, queue`,
  );
  const total = sums.find(({ part }) => part === "total");
  if (!total) throw new Error("A sum returned no row.");
  const executions = executionsOf(total);
  const { jobs, schedules, workflows } = total;
  return {
    period: { start: terms.start, end: terms.end },
    plan: terms.plan,
    executions: {
      total: executions,
      limit: terms.limit,
      remaining: remainingOf(terms.limit, executions),
      jobs,
      schedules,
      workflows,
    },
    attempts: attemptsOf(total),
    by_queue: sums
      .filter(({ part, jobs, schedules, succeeded, failed }) => part === "queue" && jobs + schedules + succeeded + failed > 0)
      .slice(0, MAX_QUEUES)
      .map((one) => ({ queue: one.queue ?? "", executions: one.jobs + one.schedules, attempts: attemptsOf(one) })),
    by_day: sums
      .filter(({ part }) => part === "day")
      .map((one) => ({ day: one.day ?? "", executions: executionsOf(one), attempts: attemptsOf(one) })),
  };
}

const executionsOf = ({ jobs, schedules, workflows }: UsageRow): number => jobs + schedules + workflows;

const attemptsOf = ({ succeeded, failed }: UsageRow) => ({ total: succeeded + failed, succeeded, failed });

/** Reads how many of the current month's executions a workspace has used. */
export async function readQuota(
  db: Db,
  workspaceId: WorkspaceId,
): Promise<{ used: number; limit: number | null; remaining: number | null; resets_at: Timestamp }> {
  const quota = await row<{ used: number; limit: number | null; resets_at: Timestamp }>(
    db,
    sql`
      select w.executions_per_month as limit, month + interval '1 month' as resets_at, (
          select coalesce(sum(jobs + schedules + workflows), 0)::bigint from usage
          where workspace_id = w.id and day >= month::date and day < (month + interval '1 month')::date) as used
      from workspace w, date_trunc('month', moment()) month where w.id = ${workspaceId}`,
  );
  if (!quota) throw new Error("The workspace of a valid key does not exist.");
  const { used, limit, resets_at } = quota;
  return { used, limit, remaining: remainingOf(limit, used), resets_at };
}

/** Never negative, although a lowered limit can be below the number already used. */
const remainingOf = (limit: number | null, used: number): number | null => (limit === null ? null : Math.max(0, limit - used));
