import { type Db, fragment, plainArray, type RunId, row, rows, sql, textArray, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { type RunKey, WAITS_FOR_CODE } from "../runs/run.ts";
import type { StepOfRun } from "../steps/wait-store.ts";

/** A signal that a run requests. */
export interface SignalAsked extends RunKey {
  readonly signal: string;
}

/** Whether the run of CTE row or table `signal` has ended, or is gone with its workflow. */
const OWNER_IS_GONE = fragment`not exists (
  select from run r join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id and l.deleted_at is null
  where r.workspace_id = signal.workspace_id and r.id = signal.run_id and r.ended_at is null)`;

/**
 * Registers signals for runs that are locked. A signal of a run that has ended passes to the requesting run. A signal that the run has
 * already consumed can be completed again. Signals of other runs are left as they are. Returns which run has each signal now. Uses the
 * primary key.
 *
 * @param registered whether the signals outlast waits that time out
 */
export async function registerSignalsAcrossWorkspaces(tx: Db, asked: readonly SignalAsked[], registered: boolean): Promise<RunId[]> {
  const workspaceIds = plainArray(asked.map((one) => one.workspaceId));
  const ids = textArray(asked.map((one) => one.signal));
  await rows(
    tx,
    sql`
      insert into signal (workspace_id, id, run_id, registered)
      select distinct on (workspace_id, id) workspace_id, id, run_id, ${registered}
      from unnest(${workspaceIds}::uuid[], ${ids}::text[], ${plainArray(asked.map((one) => one.id))}::uuid[])
        with ordinality asked (workspace_id, id, run_id, number)
      order by workspace_id, id, number
      on conflict (workspace_id, id) do update set
        run_id = excluded.run_id,
        registered = excluded.registered or (signal.registered and signal.run_id = excluded.run_id and not signal.consumed),
        payload = case when signal.run_id = excluded.run_id and not signal.consumed then signal.payload end,
        completed_at = case when signal.run_id = excluded.run_id and not signal.consumed then signal.completed_at end,
        consumed = false
      where signal.run_id = excluded.run_id or ${OWNER_IS_GONE}`,
  );
  const found = await rows<{ run_id: RunId }>(
    tx,
    sql`
      select g.run_id from unnest(${workspaceIds}::uuid[], ${ids}::text[]) with ordinality asked (workspace_id, id, number)
      cross join lateral (
        select run_id from signal g where g.workspace_id = any(array[asked.workspace_id]) and g.id = asked.id offset 0
      ) g order by asked.number`,
  );
  return found.map(({ run_id }) => run_id);
}

/** The signals that runs have and have not waited for. Uses index signal_run. */
export async function findPendingSignalsAcrossWorkspaces(tx: Db, runs: readonly RunKey[]): Promise<ReadonlyMap<RunId, Set<string>>> {
  const found = await rows<{ run_id: RunId; id: string }>(
    tx,
    sql`
      select g.run_id, g.id from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[],
        ${plainArray(runs.map((one) => one.id))}::uuid[]) as u (workspace_id, id),
      lateral (
        select run_id, id from signal g where g.workspace_id = any(array[u.workspace_id]) and g.run_id = u.id and not g.consumed offset 0
      ) g`,
  );
  const pending = new Map(runs.map(({ id }) => [id, new Set<string>()]));
  for (const { run_id, id } of found) pending.get(run_id)?.add(id);
  return pending;
}

/**
 * Signals of runs that are locked that these cancelled steps have waited for, and nothing else needs: no payload came, no step has registered them, and
 * no other one waits for them. Uses the primary keys.
 */
export const findLostSignalsAcrossWorkspaces = (tx: Db, cancelled: readonly StepOfRun[]): Promise<SignalAsked[]> =>
  rows(
    tx,
    sql`
      with lost as (
        select distinct u.workspace_id, u.run_id, s.signal
        from unnest(${plainArray(cancelled.map((one) => one.workspaceId))}::uuid[], ${plainArray(cancelled.map((one) => one.id))}::uuid[],
          ${textArray(cancelled.map((one) => one.key))}::text[]) as u (workspace_id, run_id, key)
        cross join lateral (
          select signal from run_step s
          where s.workspace_id = any(array[u.workspace_id]) and s.run_id = u.run_id and s.key = u.key and s.type = 'wait' and s.status = 'cancelled' offset 0
        ) s
        cross join lateral (
          -- "is not distinct from" keeps the planner from index signal_run.
          select from signal g
          where g.workspace_id = any(array[u.workspace_id]) and g.id = s.signal and g.run_id is not distinct from u.run_id
            and not g.registered and g.payload is null offset 0
        ) g
      ), needed as materialized (
        select r.run_id, s.signal from (select distinct workspace_id, run_id from lost) r
        cross join lateral (
          select signal from run_step s
          where s.workspace_id = any(array[r.workspace_id]) and s.run_id = r.run_id and s.status = 'waiting' and s.signal is not null offset 0
        ) s
      )
      select l.workspace_id as "workspaceId", l.run_id as id, l.signal from lost l
      where (l.run_id, l.signal) not in (select run_id, signal from needed)`,
  );

/** Deletes signals of runs. Uses the primary key. */
export const deleteSignalsAcrossWorkspaces = (tx: Db, signals: readonly SignalAsked[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      with lost as (
        select * from unnest(${plainArray(signals.map((one) => one.workspaceId))}::uuid[], ${textArray(signals.map((one) => one.signal))}::text[],
          ${plainArray(signals.map((one) => one.id))}::uuid[]) as l (workspace_id, id, run_id)
      )
      delete from signal
      where workspace_id = any(array(select distinct workspace_id from lost)) and id = any(array(select id from lost))
        and ((workspace_id, id, run_id) in (select workspace_id, id, run_id from lost)) is true`,
  );

/** Locks the signals that runs wait for, in one order. Uses the primary keys. */
export const lockAwaitedSignals = (tx: Db, workspaceId: WorkspaceId, runs: readonly RunId[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      select from (
        select s.signal, s.run_id from run_step s
        where s.workspace_id = ${workspaceId} and s.run_id = any(${plainArray(runs)}::uuid[]) and s.status = 'waiting'
          and s.signal is not null
        order by s.signal
      ) s,
      lateral (
        -- "is not distinct from" keeps the planner from index signal_run.
        select from signal g
        where g.workspace_id = any(array[${workspaceId}::uuid]) and g.id = s.signal and g.run_id is not distinct from s.run_id
        for update
      ) locked`,
  );

/** A signal, and the run that has registered it. */
export interface OwnedSignal {
  readonly run_id: RunId;
  readonly lane_id: LaneId;
  readonly has_payload: boolean;
  readonly has_ended: boolean;
  /** Whether its run is suspended, and one of its steps waits for the signal. */
  readonly is_awaited: boolean;
}

/** Finds a signal with its run, whose workflow is not deleted. Uses the primary keys. */
export const findSignal = (db: Db, workspaceId: WorkspaceId, id: string): Promise<OwnedSignal | null> =>
  row(
    db,
    sql`
      select g.run_id, r.lane_id, g.payload is not null as has_payload, r.ended_at is not null as has_ended,
        r.status = 'waiting' and not ${WAITS_FOR_CODE} and exists (
          select from run_step s
          where s.workspace_id = ${workspaceId} and s.run_id = g.run_id and s.status = 'waiting' and s.signal = ${id}) as is_awaited
      from signal g join run r on r.workspace_id = ${workspaceId} and r.id = g.run_id
      join lane l on l.workspace_id = ${workspaceId} and l.id = r.lane_id and l.deleted_at is null
      where g.workspace_id = ${workspaceId} and g.id = ${id}`,
  );

/** Stores the payload of a signal, if it has none and belongs to the run. Returns whether it was stored. Uses the primary key. */
export const storePayload = async (tx: Db, { workspaceId, id: runId }: RunKey, signal: string, payload: string): Promise<boolean> =>
  (
    await rows(
      tx,
      sql`
        update signal set payload = ${payload}, completed_at = moment()
        where workspace_id = ${workspaceId} and id = ${signal} and run_id = ${runId} and payload is null
        returning id`,
    )
  ).length > 0;
