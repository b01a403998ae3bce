import { type Db, fragment, type RunId, row, rows, sql, type Timestamp, textArray, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { RunKey } from "./run.ts";

/** Signals of one run that nobody has completed, or that it has not waited for. */
const MAX_PENDING = 100;

/** A signal as a run that asks for it finds it. */
export interface SignalRow {
  readonly id: string;
  readonly run_id: RunId;
  readonly payload: string | null;
}

const OWNER_ENDED = fragment`exists (
  select from run r where r.workspace_id = signal.workspace_id and r.id = signal.run_id and r.status in ('completed', 'failed', 'cancelled'))`;

/**
 * Registers signals for a run that is locked, and locks them. A signal of a run that has ended changes hands, and one that the run has
 * consumed begins anew. Those of other runs are left as they are. Uses the primary key.
 */
export async function registerSignals(
  tx: Db,
  { workspaceId, id }: RunKey,
  signals: readonly string[],
  registered: boolean,
): Promise<ReadonlyMap<string, SignalRow>> {
  await rows(
    tx,
    sql`
      insert into signal (workspace_id, id, run_id, registered)
      select ${workspaceId}, asked.id, ${id}, ${registered} from (select distinct unnest(${textArray(signals)}::text[]) as id) asked order by asked.id
      on conflict (workspace_id, id) do update set
        run_id = excluded.run_id,
        registered = excluded.registered or (signal.registered and signal.run_id = excluded.run_id and not signal.consumed),
        payload = case when signal.run_id = excluded.run_id and not signal.consumed then signal.payload end,
        completed_at = case when signal.run_id = excluded.run_id and not signal.consumed then signal.completed_at end,
        consumed = false
      where signal.run_id = excluded.run_id or ${OWNER_ENDED}`,
  );
  const found = await rows<SignalRow>(
    tx,
    sql`select id, run_id, payload from signal where workspace_id = ${workspaceId} and id = any(${textArray(signals)}::text[]) order by id for update`,
  );
  return new Map(found.map((one) => [one.id, one]));
}

/** Whether a run has more signals than it may have. Uses index signal_run. */
export const hasTooManySignals = async (tx: Db, { workspaceId, id }: RunKey): Promise<boolean> =>
  (await rows(tx, sql`select from signal where workspace_id = ${workspaceId} and run_id = ${id} and not consumed limit ${MAX_PENDING + 1}`))
    .length > MAX_PENDING;

/** Marks signals of a run as returned by a wait. Uses the primary key. */
export const consumeSignals = (tx: Db, { workspaceId, id }: RunKey, signals: readonly string[]): Promise<unknown> =>
  rows(
    tx,
    sql`update signal set consumed = true where workspace_id = ${workspaceId} and id = any(${textArray(signals)}::text[]) and run_id = ${id}`,
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

/** Finds a signal with its run. Uses the primary keys. */
export const findSignal = (db: Db, workspaceId: WorkspaceId, id: string): Promise<OwnedSignal | null> =>
  row(
    db,
    sql`
      select g.run_id, r.lane_id, g.payload is not null as has_payload, r.ended_at is not null as has_ended,
        r.status = 'waiting' and not exists (
          select from run_unfit u where u.workspace_id = ${workspaceId} and u.run_id = g.run_id and u.parked
        ) and exists (
          select from run_step s
          where s.workspace_id = ${workspaceId} and s.run_id = g.run_id and s.status = 'waiting' and s.signal = ${id}) as is_awaited
      from signal g join run r on r.workspace_id = ${workspaceId} and r.id = g.run_id
      where g.workspace_id = ${workspaceId} and g.id = ${id}`,
  );

/** Stores the payload of a signal that has none and belongs to a run. Returns when; null: it was not so. Uses the primary key. */
export const storePayload = async (
  tx: Db,
  { workspaceId, id: runId }: RunKey,
  signal: string,
  payload: string,
): Promise<Timestamp | null> =>
  (
    await row<{ at: Timestamp }>(
      tx,
      sql`
        update signal set payload = ${payload}, completed_at = moment()
        where workspace_id = ${workspaceId} and id = ${signal} and run_id = ${runId} and payload is null
        returning completed_at as at`,
    )
  )?.at ?? null;
