import { MAX_JOURNAL } from "@tidemill/contract";
import { COUNT_DISCARDED, COUNT_DISCARDED_ALONE, DISCARD_READY, DISCARD_READY_ALONE, type NamedClaim } from "#jobs";
import { binaryTextArray, type Db, MAX_WHOLE_CHARACTERS, plainArray, row, rows, sql, textArray } from "#kernel";
import { LIVE, type RunKey } from "../runs/run.ts";
import { COUNT_COMPLETED_RUN_ALONE, COUNT_COMPLETED_RUNS } from "../runs/run-counts.ts";
import { bytesOf, charactersOf, type StepToInsert } from "../steps/step-store.ts";

/** A run that has completed, with the steps that are not stored yet: none of them waits or has waited. Result is JSON text. */
export interface RunToComplete extends RunKey {
  readonly claim: NamedClaim;
  readonly result: string;
  readonly steps: readonly StepToInsert[];
}

/**
 * Settles the jobs of runs that have completed, and ends the runs, if their end changes nothing else: no other run waits for them, their
 * workflow has no hook for this end, and none of their calls is under way. It locks the jobs and then the runs, as all settles do. The
 * statement sees calls as they were when it began, so it leaves out a run whose journal has changed since. Returns for each run whether it
 * was settled. Uses the primary keys.
 */
export async function completeRunsAcrossWorkspaces(db: Db, runs: readonly RunToComplete[]): Promise<boolean[]> {
  const [only] = runs;
  const [step] = only?.steps ?? [];
  if (only && step && runs.length === 1 && only.steps.length === 1 && isWhole(only, step)) return [await completeRun(db, only, step)];
  const steps = runs.flatMap((run, at) => run.steps.map((step) => ({ ...step, run: at + 1 })));
  const completed = await rows<{ number: number }>(
    db,
    sql`
      with asked as (
        select * from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[], ${plainArray(runs.map((one) => one.id))}::uuid[],
          ${plainArray(runs.map(({ claim }) => claim.laneId))}::bigint[], ${plainArray(runs.map(({ claim }) => claim.leaseId))}::bigint[],
          ${plainArray(runs.map(({ claim }) => claim.attempt))}::int[], ${binaryTextArray(runs.map((one) => one.result))}::text[])
          with ordinality a (workspace_id, id, lane_id, lease_id, attempt, result, number)
      ), claimed as (
        select a.*
        from (select * from asked order by workspace_id, lane_id, id) a, lateral (
          select from job j
          where j.workspace_id = any(array[a.workspace_id]) and j.lane_id = a.lane_id and j.id = a.id
            and j.lease_id is not distinct from a.lease_id and j.attempt = a.attempt
          for update
        ) j
      ), locked as (
        select c.*, r.status, r.steps, r.last_seq, r.journal_bytes
        from (select * from claimed order by workspace_id, id) c, lateral (
          select r.status, r.steps, r.last_seq, r.journal_bytes from run r
          where r.workspace_id = any(array[c.workspace_id]) and r.id = c.id and r.${LIVE} and r.parent_run_id is null
          for no key update
        ) r
      ), reported as (
        select *, row_number() over (partition by run order by place) as seq
        from unnest(${plainArray(steps.map(({ run }) => run))}::int[], ${textArray(steps.map((one) => one.key))}::text[],
          ${textArray(steps.map((one) => one.type))}::text[], ${textArray(steps.map((one) => one.status))}::step_status[],
          ${binaryTextArray(steps.map((one) => one.output))}::text[], ${binaryTextArray(steps.map((one) => one.error))}::text[],
          ${plainArray(steps.map((one) => one.attempt))}::int[], ${textArray(steps.map((one) => one.startedAt))}::timestamptz[],
          ${plainArray(steps.map(({ undoable = false }) => undoable))}::boolean[])
          with ordinality s (run, key, type, status, output, error, attempt, started_at, undoable, place)
      ), ready as (
        select l.* from locked l
        cross join lateral (
          select count(*) as steps, coalesce(sum(coalesce(octet_length(s.output), 0) + coalesce(octet_length(s.error), 0)), 0) as bytes
          from reported s where s.run = l.number offset 0
        ) more
        cross join lateral (
          select from run r
          where r.workspace_id = any(array[l.workspace_id]) and r.id = l.id and r.last_seq = l.last_seq
            and not exists (select from run_call c where c.workspace_id = r.workspace_id and c.run_id = r.id offset 0)
            and not exists (select from workflow f where f.workspace_id = r.workspace_id and f.id = r.lane_id and 'onSuccess' = any(f.hooks) offset 0)
          offset 0
        ) unchanged
        where l.steps + more.steps <= ${MAX_JOURNAL.steps} and l.journal_bytes + more.bytes <= ${MAX_JOURNAL.bytes}
      ), gone as (
        ${DISCARD_READY}
      ), tallied as (
        ${COUNT_DISCARDED}
      ), stored as (
        insert into run_step (workspace_id, run_id, key, seq, type, status, output, error, attempt, started_at, ended_at, undoable)
        select l.workspace_id, l.id, s.key, l.last_seq + s.seq, s.type, s.status, s.output, s.error, s.attempt, coalesce(s.started_at, moment()), moment(),
          s.undoable
        from reported s join ready l on l.number = s.run
        on conflict (workspace_id, run_id, key) do nothing
        returning run_id, coalesce(octet_length(output), 0) + coalesce(octet_length(error), 0) as bytes
      ), ended as (
        update run r set status = 'completed', count_mark = not r.count_mark, result = l.result, error = null, retry_steps = null, executions = l.attempt,
          reported_execution = l.attempt, open_lease_id = null, next_attempt_at = null,
          ended_at = moment(), expires_at = coalesce(moment() + w.retention_days * interval '1 day', 'infinity'),
          steps = r.steps + (select count(*) from stored where stored.run_id = r.id),
          journal_bytes = r.journal_bytes + coalesce((select sum(bytes) from stored where stored.run_id = r.id), 0),
          last_seq = r.last_seq + (select count(*) from reported where reported.run = l.number)
        from ready l join workspace w on w.id = l.workspace_id
        where r.workspace_id = any(array(select workspace_id from ready)) and r.id = any(array(select id from ready)) and r.workspace_id = l.workspace_id and r.id = l.id
        returning l.number, l.workspace_id, l.lane_id, l.status
      ), counted as (
        ${COUNT_COMPLETED_RUNS}
      )
      select number from ended`,
  );
  const numbers = new Set(completed.map(({ number }) => number));
  return runs.map((_, at) => numbers.has(at + 1));
}

/** Whether the run and its step are sent whole. Only arrays are sent in pieces. */
const isWhole = ({ result }: RunToComplete, step: StepToInsert): boolean => result.length + charactersOf(step) <= MAX_WHOLE_CHARACTERS;

/** The same for one run with one step to store, which are sent whole. Without arrays, PostgreSQL takes a quarter less time. */
async function completeRun(db: Db, { workspaceId, id, claim, result }: RunToComplete, step: StepToInsert): Promise<boolean> {
  const { key, type, status, output, error, attempt, startedAt, undoable = false } = step;
  const bytes = bytesOf(step);
  const ended = await row(
    db,
    sql`
      with claimed as (
        select from job j
        where j.workspace_id = ${workspaceId} and j.lane_id = ${claim.laneId} and j.id = ${id}
          and j.lease_id is not distinct from ${claim.leaseId}::bigint and j.attempt = ${claim.attempt}
        for update
      ), locked as (
        select r.lane_id, r.status, r.steps, r.last_seq, r.journal_bytes from run r
        where r.workspace_id = ${workspaceId} and r.id = ${id} and r.${LIVE} and r.parent_run_id is null and exists (select from claimed)
        for no key update
      ), ready as (
        select ${workspaceId}::uuid as workspace_id, l.lane_id, ${id}::uuid as id, l.status, l.last_seq from locked l
        where l.steps < ${MAX_JOURNAL.steps} and l.journal_bytes + ${bytes} <= ${MAX_JOURNAL.bytes}
          and exists (select from run r where r.workspace_id = ${workspaceId} and r.id = ${id} and r.last_seq = l.last_seq offset 0)
          and not exists (select from run_call c where c.workspace_id = ${workspaceId} and c.run_id = ${id} offset 0)
          and not exists (select from workflow f where f.workspace_id = ${workspaceId} and f.id = l.lane_id and 'onSuccess' = any(f.hooks) offset 0)
      ), gone as (
        ${DISCARD_READY_ALONE}
      ), tallied as (
        ${COUNT_DISCARDED_ALONE}
      ), stored as (
        insert into run_step (workspace_id, run_id, key, seq, type, status, output, error, attempt, started_at, ended_at, undoable)
        select workspace_id, id, ${key}, last_seq + 1, ${type}, ${status}::step_status, ${output}, ${error}, ${attempt}::int,
          coalesce(${startedAt}::timestamptz, moment()), moment(), ${undoable}::boolean
        from ready
        on conflict (workspace_id, run_id, key) do nothing
        returning run_id
      ), ended as (
        update run r set status = 'completed', count_mark = not r.count_mark, result = ${result}, error = null, retry_steps = null, executions = ${claim.attempt},
          reported_execution = ${claim.attempt}, open_lease_id = null, next_attempt_at = null,
          ended_at = moment(), expires_at = coalesce(moment() + w.retention_days * interval '1 day', 'infinity'),
          steps = r.steps + (select count(*) from stored), journal_bytes = r.journal_bytes + (select count(*) from stored) * ${bytes},
          last_seq = r.last_seq + 1
        from ready l join workspace w on w.id = l.workspace_id
        where r.workspace_id = ${workspaceId} and r.id = ${id}
        returning r.id, l.workspace_id, l.lane_id, l.status
      ), counted as (
        ${COUNT_COMPLETED_RUN_ALONE}
      )
      select id from ended`,
  );
  return ended !== null;
}
