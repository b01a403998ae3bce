import { type Db, fragment, largeTextArray, plainArray, type RunId, row, rows, sql, textArray, type WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";
import { RECORD_RUNS } from "#usage";
import type { RunKey, RunWithData, StepRow } from "./run.ts";

export interface RunToInsert extends LaneKey, RunKey {
  readonly attempts: number;
  /** JSON texts. */
  readonly input: string;
  readonly trigger: string;
  readonly idempotencyKey: string | null;
}

/** Takes the key of a trigger for a run. Returns null, or the run that has it: the insert waits for one that is taking it. Uses the primary key. */
export async function claimRunKey(tx: Db, { workspaceId, laneId }: LaneKey, key: string, id: RunId): Promise<RunId | null> {
  const claimed = await rows(
    tx,
    sql`insert into run_key (workspace_id, lane_id, key, run_id) values (${workspaceId}, ${laneId}, ${key}, ${id}) on conflict do nothing returning key`,
  );
  if (claimed.length > 0) return null;
  const known = await row<{ run_id: RunId }>(
    tx,
    sql`select run_id from run_key where workspace_id = ${workspaceId} and lane_id = ${laneId} and key = ${key}`,
  );
  return known?.run_id ?? claimRunKey(tx, { workspaceId, laneId }, key, id);
}

/** Inserts runs, and counts each as an execution. Runs with the same input share the text on its way to the database. */
export function insertRuns(tx: Db, runs: readonly RunToInsert[]): Promise<unknown> {
  const inputs = new Map([...new Set(runs.map(({ input }) => input))].map((input, index) => [input, index + 1]));
  return rows(
    tx,
    sql`
      with started as (
        insert into run (workspace_id, lane_id, id, attempts, input, trigger, idempotency_key, created_at)
        select r.workspace_id, r.lane_id, r.id, r.attempts, (${largeTextArray([...inputs.keys()])}::text[])[r.input], r.trigger, r.key, moment()
        from unnest(${plainArray(runs.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(runs.map(({ laneId }) => laneId))}::bigint[],
          ${plainArray(runs.map(({ id }) => id))}::uuid[], ${plainArray(runs.map(({ attempts }) => attempts))}::int[],
          ${plainArray(runs.map(({ input }) => inputs.get(input) ?? 1))}::int[], ${textArray(runs.map(({ trigger }) => trigger))}::text[],
          ${textArray(runs.map(({ idempotencyKey }) => idempotencyKey))}::text[])
          as r (workspace_id, lane_id, id, attempts, input, trigger, key)
        returning workspace_id, lane_id
      ), used as (
        ${RECORD_RUNS}
      )
      select count(*) from started`,
  );
}

/** The columns of a listed run, from `run r` and its `lane l`. */
export const LISTED = fragment`r.id, r.lane_id, l.name as workflow, r.status, r.version, r.failures, r.attempts, r.error, r.trigger,
  r.idempotency_key, r.next_attempt_at, r.created_at, r.started_at, r.ended_at`;

/** Finds a run of a workflow that is not deleted. Uses the primary keys. */
export const findRun = (db: Db, { workspaceId, id }: RunKey): Promise<RunWithData | null> =>
  row(
    db,
    sql`
      select ${LISTED}, r.input, r.result, r.progress, r.steps, r.retries from run r join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id and l.deleted_at is null
      where r.workspace_id = ${workspaceId} and r.id = ${id}`,
  );

/** The journals of runs: steps in the order of their outcomes, then those that wait. Uses the primary key. */
export async function readJournals(db: Db, workspaceId: WorkspaceId, ids: readonly RunId[]): Promise<ReadonlyMap<RunId, StepRow[]>> {
  const steps = await rows<StepRow & { run_id: RunId }>(
    db,
    sql`
      select run_id, key, type, status, output, error, attempt, started_at, ended_at, wake_at, signal, undoable from run_step
      where workspace_id = ${workspaceId} and run_id = any(${plainArray(ids)}::uuid[]) order by run_id, status = 'waiting', seq`,
  );
  return Map.groupBy(steps, ({ run_id }) => run_id);
}

/** The journal of one run. */
export const readJournal = async (db: Db, { workspaceId, id }: RunKey): Promise<StepRow[]> =>
  (await readJournals(db, workspaceId, [id])).get(id) ?? [];

/** A step of a journal, by its key. Uses the primary key. */
export const findStep = (db: Db, { workspaceId, id }: RunKey, key: string): Promise<Pick<StepRow, "output"> | null> =>
  row(db, sql`select output from run_step where workspace_id = ${workspaceId} and run_id = ${id} and key = ${key}`);
