import { type Db, plainArray, rows, sql, textArray } from "#kernel";
import type { RunKey } from "../runs/run.ts";

/** Identifies a step of a run. */
export interface StepOfRun extends RunKey {
  readonly key: string;
}

const columnsOf = (steps: readonly StepOfRun[]) => ({
  workspaceIds: plainArray(steps.map((one) => one.workspaceId)),
  runIds: plainArray(steps.map((one) => one.id)),
  keys: textArray(steps.map((one) => one.key)),
});

/** Locks runs whose jobs are already locked. Uses the primary key. */
export const lockRunsAcrossWorkspaces = (tx: Db, runs: readonly RunKey[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      select from (
        select * from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[], ${plainArray(runs.map((one) => one.id))}::uuid[])
          as u (workspace_id, id)
        order by workspace_id, id
      ) u,
      lateral (select from run r where r.workspace_id = any(array[u.workspace_id]) and r.id = u.id for no key update) locked`,
  );

/** Which of these steps are in the journals, by their place in the list. Uses the primary key. */
export async function findStoredAcrossWorkspaces(tx: Db, steps: readonly StepOfRun[]): Promise<ReadonlySet<number>> {
  const { workspaceIds, runIds, keys } = columnsOf(steps);
  const found = await rows<{ index: number }>(
    tx,
    sql`
      select (number - 1)::int as index from unnest(${workspaceIds}::uuid[], ${runIds}::uuid[], ${keys}::text[])
        with ordinality u (workspace_id, run_id, key, number),
      lateral (select from run_step s where s.workspace_id = any(array[u.workspace_id]) and s.run_id = u.run_id and s.key = u.key offset 0) stored`,
  );
  return new Set(found.map(({ index }) => index));
}

/**
 * Which of these waits of a run, whose job is locked, have their outcome already: the payload of their signal, or an error. Uses the primary
 * keys.
 */
export async function findReady(tx: Db, { workspaceId, id }: RunKey, keys: readonly string[]): Promise<string[]> {
  const found = await rows<{ key: string }>(
    tx,
    sql`
      select u.key from unnest(${textArray(keys)}::text[]) with ordinality u (key, number)
      cross join lateral (
        select s.signal, s.error from run_step s
        where s.workspace_id = any(array[${workspaceId}::uuid]) and s.run_id = ${id} and s.key = u.key and s.type = 'wait' and s.status = 'waiting' offset 0
      ) s
      where s.error is not null or exists (
        -- "is not distinct from" keeps the planner from index signal_run.
        select from signal g
        where g.workspace_id = any(array[${workspaceId}::uuid]) and g.id = s.signal and g.run_id is not distinct from ${id}
          and not g.consumed and g.payload is not null offset 0)
      order by u.number`,
  );
  return found.map(({ key }) => key);
}

/**
 * Cancels sleeps and waits that their programs no longer wait for. The runs are locked. A payload that came for such a wait is kept for the
 * run's next wait. The steps keep their places in the journal, and readers who follow the run see a change. Uses the primary keys.
 */
export function cancelWaitsAcrossWorkspaces(tx: Db, steps: readonly StepOfRun[]): Promise<unknown> {
  // The statement below may not find a step twice.
  const { workspaceIds, runIds, keys } = columnsOf([...new Map(steps.map((step) => [`${step.id} ${step.key}`, step])).values()]);
  return rows(
    tx,
    sql`
      with asked as (
        select u.workspace_id, u.run_id, u.key, s.seq, s.type, s.attempt, s.started_at, s.signal, coalesce(s.ended_at, moment()) as ended_at,
          r.last_seq + u.number as place
        from unnest(${workspaceIds}::uuid[], ${runIds}::uuid[], ${keys}::text[]) with ordinality as u (workspace_id, run_id, key, number)
        cross join lateral (select last_seq from run r where r.workspace_id = any(array[u.workspace_id]) and r.id = u.run_id offset 0) r
        cross join lateral (
          select * from run_step s
          where s.workspace_id = any(array[u.workspace_id]) and s.run_id = u.run_id and s.key = u.key
            and s.type in ('sleep', 'wait', 'invoke') and s.status <> 'cancelled' offset 0
        ) s
      ), cancelled as (
        -- Each has a row: so it is found by the primary key, whatever the planner takes for the number of steps.
        insert into run_step (workspace_id, run_id, key, seq, type, status, attempt, started_at, ended_at, signal, cancelled_seq)
        select workspace_id, run_id, key, seq, type, 'cancelled', attempt, started_at, ended_at, signal, place from asked
        on conflict (workspace_id, run_id, key) do update set status = 'cancelled', output = null, error = null, ended_at = excluded.ended_at,
          cancelled_seq = excluded.cancelled_seq
        returning workspace_id, run_id, key, signal, ended_at
      ), placed as (
        update run r set last_seq = r.last_seq + ${steps.length}
        from (select distinct workspace_id, run_id from cancelled) c
        where r.workspace_id = any(array[c.workspace_id]) and r.id = any(array(select distinct run_id from cancelled)) and r.id = c.run_id
      ), kept as (
        select c.workspace_id, g.id from cancelled c
        cross join lateral (
          select id from signal g
          where g.workspace_id = any(array[c.workspace_id]) and g.id = c.signal and g.run_id is not distinct from c.run_id and g.consumed
            and g.completed_at = c.ended_at and not exists (
              select from run_step o where o.workspace_id = c.workspace_id and o.run_id = c.run_id and o.signal = c.signal and o.status = 'completed'
                and o.key <> c.key and o.ended_at = g.completed_at offset 0)
          offset 0) g
      )
      update signal set consumed = false
      where workspace_id = any(array(select distinct workspace_id from kept)) and id = any(array(select id from kept))
        and ((workspace_id, id) in (select workspace_id, id from kept)) is true`,
  );
}
