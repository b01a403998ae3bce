import { type Db, fragment, rows, sql, type WorkspaceId } from "#kernel";

/** The sequence numbers between `after` and `before`, without the two. */
export interface SeqRange {
  readonly after: number;
  readonly before: number;
}

/** All sequence numbers. */
export const WHOLE_LOG: SeqRange = { after: 0, before: Number.MAX_SAFE_INTEGER };

/**
 * An event has the time at which its transaction began, and its number when it is appended. So a later number may have an earlier time: by
 * the length of a transaction, plus as much as the database's clock was set back.
 */
const MAX_DISORDER = fragment`interval '10 minutes'`;

/**
 * Finds the part of the log with all events from `from` until `to`; it may include others. A binary search for each end, with fewer than 50
 * steps, reads one event per step. Uses the primary key.
 */
export async function findSeqRange(
  db: Db,
  { workspaceId, from, to }: { readonly workspaceId: WorkspaceId; readonly from: string | null; readonly to: string | null },
): Promise<SeqRange> {
  const found = await rows<{ bound: "from" | "to"; low: number; high: number }>(
    db,
    sql`
      with recursive search as (
        select bound, at, 0::bigint as low, coalesce((
          select seq from audit_event where workspace_id = ${workspaceId} order by seq desc limit 1), 0) + 1 as high
        from (values ('from', ${from}::timestamptz - ${MAX_DISORDER}), ('to', ${to}::timestamptz + ${MAX_DISORDER})) sought (bound, at)
        where at is not null
        union all
        select bound, at, case when probed.is_before then probed.seq else low end, case when probed.is_before then high else middle end
        from search cross join lateral (select (low + high) / 2 as middle offset 0) half
        left join lateral (
          select seq, seq < high and occurred_at < at as is_before from audit_event
          where workspace_id = ${workspaceId} and seq >= middle order by seq limit 1) probed on true
        where high - low > 1
      )
      select bound, low, high from search where high - low <= 1`,
  );
  return {
    after: found.find(({ bound }) => bound === "from")?.low ?? WHOLE_LOG.after,
    before: found.find(({ bound }) => bound === "to")?.high ?? WHOLE_LOG.before,
  };
}
