import { type Db, plainArray, type RunId, rows, sql, type Timestamp } from "#kernel";
import { LIVE } from "../runs/run.ts";
import type { ExecutionOfRun } from "../steps/reported-store.ts";

/**
 * Sets the status of runs according to what they wait for. Returns when the first wait of each run ends; null: it waits for nothing. A wait
 * has ended if its signal was completed in the meantime, if the run may not have the signal, or if the run that it waits for has ended.
 * Uses the primary keys.
 */
export async function suspendAcrossWorkspaces(tx: Db, runs: readonly ExecutionOfRun[]): Promise<ReadonlyMap<RunId, Timestamp | null>> {
  const suspended = await rows<{ id: RunId; at: Timestamp | null }>(
    tx,
    sql`
      with pending as (
        select u.workspace_id, u.id, u.execution, p.at, p.for_others
        from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[], ${plainArray(runs.map((one) => one.id))}::uuid[],
          ${plainArray(runs.map((one) => one.execution))}::int[]) as u (workspace_id, id, execution)
        cross join lateral (
          select min(case when s.error is not null or s.answered_at is not null or s.signal is not null and not exists (
              select from signal g
              where g.workspace_id = any(array[s.workspace_id]) and g.id = s.signal and g.run_id is not distinct from s.run_id and g.payload is null)
              or s.child_run_id is not null and not exists (
              select from run c where c.workspace_id = any(array[s.workspace_id]) and c.id = s.child_run_id and c.ended_at is null)
            then moment() else coalesce(s.wake_at, moment() + interval '1 day') end) as at, coalesce(bool_or(s.type <> 'sleep'), false) as for_others
          from run_step s where s.workspace_id = any(array[u.workspace_id]) and s.run_id = u.id and s.status = 'waiting'
        ) p
      )
      update run r set status = case when p.at is null then 'running' when p.for_others then 'waiting' else 'sleeping' end::run_status,
        spared_error = null, reported_execution = p.execution, open_lease_id = null
      from pending p where r.workspace_id = any(array[p.workspace_id]) and r.id = p.id and r.${LIVE}
      returning r.id, p.at`,
  );
  return new Map(suspended.map(({ id, at }) => [id, at]));
}
