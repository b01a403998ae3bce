import { MAX_JOURNAL } from "@tidemill/contract";
import type { NamedClaim } from "#jobs";
import { binaryTextArray, type Db, MAX_WHOLE_CHARACTERS, plainArray, type RunId, row, rows, sql, textArray } from "#kernel";
import { LIVE, type RunKey } from "../runs/run.ts";
import { bytesOf, charactersOf, type StepToInsert } from "./step-store.ts";

/** Plain steps of a run that are reported under a claim. */
export interface PlainSteps extends RunKey {
  readonly claim: NamedClaim;
  readonly steps: readonly StepToInsert[];
}

/** Whether a step was executed by the program alone, so that it changes no waits. */
export const isPlain = ({ type, status }: StepToInsert): boolean =>
  (type === "run" || type === "value") && (status === "completed" || status === "failed");

/**
 * Adds plain steps to the journals of runs, each run once, if nothing must be decided about them: the execution is the latest one of its
 * run, it has not ended, and the journal has room. Returns how many steps these journals have. Runs that are left out are for
 * `insertStepsAcrossWorkspaces`, which checks their jobs. If its node is lost, an execution may add steps until the next one begins, which
 * then finds them (decision 61). Uses the primary keys: lanes are compared in a way that keeps the planner from the index of all runs of a
 * lane.
 *
 * @throws the database's error of a duplicate if a journal has one of the steps: then nothing is stored (`isDuplicate`)
 */
export async function insertPlainStepsAcrossWorkspaces(db: Db, runs: readonly PlainSteps[]): Promise<ReadonlyMap<RunId, number>> {
  const [only] = runs;
  const [step] = only?.steps ?? [];
  if (only && step && runs.length === 1 && only.steps.length === 1 && isWhole(step)) return insertPlainStep(db, only, step);
  const steps = runs.flatMap((run, at) => run.steps.map((step) => ({ ...step, run: at + 1 })));
  const stored = await rows<{ id: RunId; steps: number }>(
    db,
    sql`
      with asked as (
        select * from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[], ${plainArray(runs.map((one) => one.id))}::uuid[],
          ${plainArray(runs.map(({ claim }) => claim.laneId))}::bigint[], ${plainArray(runs.map(({ claim }) => claim.leaseId))}::bigint[],
          ${plainArray(runs.map(({ claim }) => claim.attempt))}::int[], ${plainArray(runs.map((one) => one.steps.length))}::int[],
          ${plainArray(runs.map(bytesOfAll))}::bigint[])
          with ordinality a (workspace_id, id, lane_id, lease_id, execution, steps, bytes, number)
      ), counted as (
        update run r set steps = r.steps + c.steps, last_seq = r.last_seq + c.steps, journal_bytes = r.journal_bytes + c.bytes
        from (select * from asked order by workspace_id, id) c
        where r.workspace_id = any(array[c.workspace_id]) and r.id = c.id and r.lane_id is not distinct from c.lane_id
          and r.last_execution = c.execution and r.open_lease_id = c.lease_id and r.${LIVE}
          and r.steps + c.steps <= ${MAX_JOURNAL.steps} and r.journal_bytes + c.bytes <= ${MAX_JOURNAL.bytes}
        returning r.workspace_id, r.id, c.number, r.last_seq - c.steps as last_seq, r.steps
      ), stored as (
        insert into run_step (workspace_id, run_id, key, seq, type, status, output, error, attempt, started_at, ended_at, undoable)
        select r.workspace_id, r.id, s.key, r.last_seq + s.place, s.type, s.status, s.output, s.error, s.attempt, coalesce(s.started_at, moment()), moment(),
          s.undoable
        from counted r, unnest(${plainArray(steps.map(({ run }) => run))}::int[], ${plainArray(runs.flatMap((one) => one.steps.map((_, at) => at + 1)))}::int[],
          ${textArray(steps.map((one) => one.key))}::text[], ${textArray(steps.map((one) => one.type))}::text[],
          ${textArray(steps.map((one) => one.status))}::step_status[], ${binaryTextArray(steps.map((one) => one.output))}::text[],
          ${binaryTextArray(steps.map((one) => one.error))}::text[], ${plainArray(steps.map((one) => one.attempt))}::int[],
          ${textArray(steps.map((one) => one.startedAt))}::timestamptz[], ${plainArray(steps.map(({ undoable = false }) => undoable))}::boolean[])
          s (run, place, key, type, status, output, error, attempt, started_at, undoable)
        where s.run = r.number
      )
      select id, steps from counted`,
  );
  return new Map(stored.map((one) => [one.id, one.steps]));
}

/** Whether the step is sent whole. Only arrays are sent in pieces. */
const isWhole = (step: StepToInsert): boolean => charactersOf(step) <= MAX_WHOLE_CHARACTERS;

/** The same for one step of one run, which is sent whole. Without arrays, PostgreSQL takes a fifth less time. */
async function insertPlainStep(db: Db, run: PlainSteps, step: StepToInsert): Promise<ReadonlyMap<RunId, number>> {
  const { workspaceId, id, claim } = run;
  const { key, type, status, output, error, attempt, startedAt, undoable = false } = step;
  const bytes = bytesOf(step);
  const stored = await row<{ steps: number }>(
    db,
    sql`
      with counted as (
        update run r set steps = r.steps + 1, last_seq = r.last_seq + 1, journal_bytes = r.journal_bytes + ${bytes}
        where r.workspace_id = ${workspaceId} and r.id = ${id} and r.lane_id is not distinct from ${claim.laneId}
          and r.last_execution = ${claim.attempt} and r.open_lease_id = ${claim.leaseId}::bigint and r.${LIVE}
          and r.steps < ${MAX_JOURNAL.steps} and r.journal_bytes + ${bytes} <= ${MAX_JOURNAL.bytes}
        returning r.last_seq, r.steps
      ), stored as (
        insert into run_step (workspace_id, run_id, key, seq, type, status, output, error, attempt, started_at, ended_at, undoable)
        select ${workspaceId}, ${id}, ${key}, last_seq, ${type}, ${status}::step_status, ${output}, ${error}, ${attempt}::int,
          coalesce(${startedAt}::timestamptz, moment()), moment(), ${undoable}::boolean
        from counted
      )
      select steps from counted`,
  );
  return new Map(stored ? [[id, stored.steps]] : []);
}

const bytesOfAll = ({ steps }: PlainSteps): number => steps.reduce((sum, step) => sum + bytesOf(step), 0);
