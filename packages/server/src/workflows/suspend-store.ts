import { type Db, plainArray, type RunId, rows, sql, type Timestamp } from "#kernel";
import { LIVE, type RunKey } from "./run.ts";

/** A run that is suspended, or goes on at once because a step that was to wait has its outcome already. */
export interface Suspension extends RunKey {
  readonly goesOn: boolean;
}

/**
 * Sets the status of runs from what they wait for. Returns when the first of it ends; null: at once. A wait whose signal was completed
 * meanwhile ends at once. Uses the primary keys.
 */
export async function suspendAcrossWorkspaces(tx: Db, runs: readonly Suspension[]): Promise<ReadonlyMap<RunId, Timestamp | null>> {
  const suspended = await rows<{ id: RunId; at: Timestamp | null }>(
    tx,
    sql`
      with pending as (
        select u.workspace_id, u.id, case when not u.goes_on then p.at end as at, p.for_signal
        from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[], ${plainArray(runs.map((one) => one.id))}::uuid[],
          ${plainArray(runs.map((one) => one.goesOn))}::boolean[]) as u (workspace_id, id, goes_on)
        cross join lateral (
          select min(case when exists (
              select from signal g
              where g.workspace_id = any(array[s.workspace_id]) and g.id = s.signal and g.run_id = s.run_id and g.payload is not null and not g.consumed)
            then moment() else s.wake_at end) as at, coalesce(bool_or(s.signal is not null), false) as for_signal
          from run_step s where s.workspace_id = any(array[u.workspace_id]) and s.run_id = u.id and s.status = 'waiting'
        ) p
      )
      update run r set status = case when p.at is null then 'running' when p.for_signal then 'waiting' else 'sleeping' end::run_status
      from pending p where r.workspace_id = any(array[p.workspace_id]) and r.id = p.id and r.${LIVE}
      returning r.id, p.at`,
  );
  return new Map(suspended.map(({ id, at }) => [id, at]));
}
