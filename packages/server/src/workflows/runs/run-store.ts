import { binaryTextArray, type Db, Fragment, fragment, plainArray, type RunId, row, rows, sql, textArray, type WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";
import { RECORD_RUNS } from "#usage";
import { columnMayHoldTemplates } from "#vault";
import { type RunKey, type RunWithData, STEP_BYTES, type StepRow } from "./run.ts";

export interface RunToInsert extends LaneKey, RunKey {
  readonly attempts: number;
  /** JSON texts. */
  readonly input: string;
  readonly trigger: string;
  readonly idempotencyKey: string | null;
  /** The run whose step starts this one. Default: none. */
  readonly parent?: { readonly id: RunId; readonly depth: number };
}

/** Inserts runs, and counts each as an execution. Runs with the same input share the text on its way to the database. */
export function insertRuns(tx: Db, runs: readonly RunToInsert[]): Promise<unknown> {
  const inputs = new Map([...new Set(runs.map(({ input }) => input))].map((input, index) => [input, index + 1]));
  return rows(
    tx,
    sql`
      with started as (
        insert into run (workspace_id, lane_id, id, attempts, input, trigger, idempotency_key, parent_run_id, depth, created_at)
        select r.workspace_id, r.lane_id, r.id, r.attempts, (${binaryTextArray([...inputs.keys()])}::text[])[r.input], r.trigger, r.key, r.parent, r.depth,
          moment()
        from unnest(${plainArray(runs.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(runs.map(({ laneId }) => laneId))}::bigint[],
          ${plainArray(runs.map(({ id }) => id))}::uuid[], ${plainArray(runs.map(({ attempts }) => attempts))}::int[],
          ${plainArray(runs.map(({ input }) => inputs.get(input) ?? 1))}::int[], ${textArray(runs.map(({ trigger }) => trigger))}::text[],
          ${textArray(runs.map(({ idempotencyKey }) => idempotencyKey))}::text[],
          ${plainArray(runs.map(({ parent }) => parent?.id ?? null))}::uuid[], ${plainArray(runs.map(({ parent }) => (parent ? parent.depth + 1 : 0)))}::smallint[])
          as r (workspace_id, lane_id, id, attempts, input, trigger, key, parent, depth)
        returning workspace_id, lane_id
      ), used as (
        ${RECORD_RUNS}
      )
      select count(*) from started`,
  );
}

/** When the circuit of the lane of `r` lets the next probe through, while it is open. Uses the primary key. */
export const PROBE_AT = fragment`(select c.probe_at from circuit c where c.workspace_id = r.workspace_id and c.lane_id = r.lane_id)`;

/** When run `r` is executed again. While the circuit of its workflow is open, that is not before the next probe, and its job may be due. */
const NEXT_ATTEMPT_AT = fragment`case when r.status = 'running' and r.open_lease_id is null then greatest(r.next_attempt_at, ${PROBE_AT})
  else r.next_attempt_at end`;

/** The columns of a listed run, from `run r` and its `lane l`. Its error is that of its last execution, even if that used no attempt. */
export const LISTED = fragment`r.id, r.lane_id, l.name as workflow, r.status, r.version, r.failures, r.attempts,
  case when r.ended_at is null then coalesce(r.spared_error, r.error) else r.error end as error, r.trigger,
  r.parent_run_id, r.idempotency_key, ${NEXT_ATTEMPT_AT} as next_attempt_at, r.created_at, r.started_at, r.ended_at`;

/** Runs of workflows that are not deleted. */
export const RUN_AND_LANE = fragment`run r join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id and l.deleted_at is null`;

/** The approximate length of a run with all its data and its journal as JSON text, in bytes: an expression over the columns of `run`. */
export const RUN_BYTES = fragment`journal_bytes + steps * ${new Fragment(String(STEP_BYTES))} + octet_length(input) + coalesce(octet_length(result), 0)`;

/** Finds a run of a workflow that is not deleted. Uses the primary keys. */
export const findRun = (db: Db, { workspaceId, id }: RunKey): Promise<RunWithData | null> =>
  row(
    db,
    sql`
      select ${LISTED}, r.input, r.result, r.progress, r.last_seq, r.journal_bytes, ${RUN_BYTES} as bytes, r.retries from ${RUN_AND_LANE}
      where r.workspace_id = ${workspaceId} and r.id = ${id}`,
  );

/** How many steps the journal of a run has. 0: there is no such run. Uses the primary key. */
export const countSteps = async (db: Db, workspaceId: WorkspaceId, id: RunId): Promise<number> =>
  (await row<{ steps: number }>(db, sql`select steps from run where workspace_id = ${workspaceId} and id = ${id}`))?.steps ?? 0;

/** `RUN_BYTES` of a run; null if `findRun` does not find it. Uses the primary keys. */
export const weighRun = async (db: Db, { workspaceId, id }: RunKey): Promise<number | null> =>
  (
    await row<{ bytes: number }>(
      db,
      sql`select ${RUN_BYTES} as bytes from ${RUN_AND_LANE} where r.workspace_id = ${workspaceId} and r.id = ${id}`,
    )
  )?.bytes ?? null;

/** `RUN_BYTES` of runs, by their ids. Uses the primary key. */
export const weighRuns = async (db: Db, workspaceId: WorkspaceId, ids: readonly RunId[]): Promise<ReadonlyMap<RunId, number>> => {
  const found = await rows<{ id: RunId; bytes: number }>(
    db,
    sql`select id, ${RUN_BYTES} as bytes from run where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[])`,
  );
  return new Map(found.map(({ id, bytes }) => [id, bytes]));
};

const INPUT_MAY_HOLD_TEMPLATES = columnMayHoldTemplates(fragment`input`);

/** The input of a run if it may hold templates. Uses the primary key. */
export const findTemplatedInput = async (db: Db, { workspaceId, id }: RunKey): Promise<string | null> =>
  (
    await row<{ input: string }>(
      db,
      sql`
        select input from run where workspace_id = ${workspaceId} and id = ${id} and ${INPUT_MAY_HOLD_TEMPLATES}`,
    )
  )?.input ?? null;

/** Output and error of a step. If a waiting step already has an outcome, it is not in the journal until the next execution begins. */
export const VISIBLE_OUTCOME = fragment`case when status <> 'waiting' or type = 'invoke' then output end as output,
  case when status <> 'waiting' then error end as error`;

/** The journals of runs: steps in the order of their outcomes, then those that wait. Uses the primary key. */
export async function readJournals(db: Db, workspaceId: WorkspaceId, ids: readonly RunId[]): Promise<ReadonlyMap<RunId, StepRow[]>> {
  const steps = await rows<StepRow & { run_id: RunId }>(
    db,
    sql`
      select run_id, key, type, status, ${VISIBLE_OUTCOME}, attempt, started_at, ended_at, wake_at, signal, child_run_id, undoable from run_step
      where workspace_id = ${workspaceId} and run_id = any(${plainArray(ids)}::uuid[]) order by run_id, status = 'waiting', seq`,
  );
  return Map.groupBy(steps, ({ run_id }) => run_id);
}

/** The inputs of runs, as JSON texts. Uses the primary key. */
export async function readInputs(db: Db, workspaceId: WorkspaceId, ids: readonly RunId[]): Promise<ReadonlyMap<RunId, string>> {
  const found = await rows<{ id: RunId; input: string }>(
    db,
    sql`select id, input from run where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[])`,
  );
  return new Map(found.map(({ id, input }) => [id, input]));
}

/** The journal of one run. */
export const readJournal = async (db: Db, { workspaceId, id }: RunKey): Promise<StepRow[]> =>
  (await readJournals(db, workspaceId, [id])).get(id) ?? [];

/** A step of a journal, by its key. Uses the primary key. */
export const findStep = (
  db: Db,
  { workspaceId, id }: RunKey,
  key: string,
): Promise<Pick<StepRow, "output" | "type" | "status" | "child_run_id"> | null> =>
  row(
    db,
    sql`select output, type, status, child_run_id from run_step where workspace_id = ${workspaceId} and run_id = ${id} and key = ${key}`,
  );
