import { MAX_JOURNAL, type StepStatus, type StepType, UNDO_ROOM } from "@tidemill/contract";
import type { NamedClaim } from "#jobs";
import { binaryTextArray, type Db, plainArray, type RunId, rows, sql, type Timestamp, textArray } from "#kernel";
import type { CallToBegin } from "../calls/read-call.ts";
import { LIVE, type RunKey } from "../runs/run.ts";

/** A step to store. Output and error are JSON texts. */
export interface StepToInsert {
  readonly key: string;
  readonly type: StepType;
  readonly status: StepStatus;
  readonly output: string | null;
  readonly error: string | null;
  readonly attempt: number;
  readonly startedAt: Timestamp | null;
  /** When a sleep ends: a time, or milliseconds from now. */
  readonly wakeAt: Timestamp | null;
  readonly wakeInMs: number | null;
  /** The signal that a step waits for, or has registered. */
  readonly signal: string | null;
  /** The run that a step has started, and waits for. Default: none. */
  readonly childRunId?: RunId;
  /** The call that a step waits for. */
  readonly call?: CallToBegin;
  /** Whether the program can undo the step. Default: false. */
  readonly undoable?: boolean;
}

/** The length of a step's output and error. Characters. */
export const charactersOf = ({ output, error }: StepToInsert): number => (output?.length ?? 0) + (error?.length ?? 0);

/** The size of a step's output and error. Bytes. */
export const bytesOf = ({ output, error }: StepToInsert): number => Buffer.byteLength(output ?? "") + Buffer.byteLength(error ?? "");

/** Whether these steps say that others were undone. Such steps are stored even for a run that has ended. */
export const areUndos = (steps: readonly StepToInsert[]): boolean => steps.every(({ type }) => type === "undo");

/** A step that the service has executed. */
export const completedStep = (key: string, type: StepType, output: string): StepToInsert => ({
  key,
  type,
  status: "completed",
  output,
  error: null,
  attempt: 1,
  startedAt: null,
  wakeAt: null,
  wakeInMs: null,
  signal: null,
});

/** Steps for the journal of a run, with the claim under which they are reported. Null: the caller has locked the run's job. */
export interface StepsToInsert extends RunKey {
  readonly claim: NamedClaim | null;
  readonly steps: readonly StepToInsert[];
}

/**
 * Adds steps to the journals of runs, each run once. Steps that a journal has are left as they are, except for sleeps that end. They need
 * no room. The statement locks the jobs of claims and then the runs, in the order in which settles lock them. Returns how many steps the
 * journals have; null for a journal that would be too large, which gets none of them. Runs whose claim no longer holds are left out, and so
 * are runs that have ended, unless the steps are undos. A journal has room for the undos of all its steps. Only active jobs have a lease: a
 * condition on the state would let the planner read all jobs that are held. Uses the primary keys.
 */
export async function insertStepsAcrossWorkspaces(db: Db, runs: readonly StepsToInsert[]): Promise<ReadonlyMap<RunId, number | null>> {
  const steps = runs.flatMap((run) => run.steps.map((step) => ({ ...step, run })));
  const stored = await rows<{ id: RunId; steps: number | null }>(
    db,
    sql`
      with asked as (
        select * from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[], ${plainArray(runs.map((one) => one.id))}::uuid[],
          ${plainArray(runs.map(({ claim }) => claim?.laneId ?? null))}::bigint[],
          ${plainArray(runs.map(({ claim }) => claim?.leaseId ?? null))}::bigint[],
          ${plainArray(runs.map(({ claim }) => claim?.attempt ?? null))}::int[], ${plainArray(runs.map((one) => areUndos(one.steps)))}::boolean[])
          as a (workspace_id, id, lane_id, lease_id, attempt, undoes)
      ), claimed as (
        select a.workspace_id, a.id, a.undoes
        from (select * from asked where lane_id is not null order by workspace_id, lane_id, id) a, lateral (
          select from job j
          where j.workspace_id = any(array[a.workspace_id]) and j.lane_id = a.lane_id and j.id = a.id
            and j.lease_id is not distinct from a.lease_id and j.attempt = a.attempt
          for share
        ) j
      ), held as (
        select workspace_id, id, undoes from claimed
        union all
        select workspace_id, id, undoes from asked where lane_id is null
      ), locked as (
        select h.workspace_id, h.id, r.steps, r.last_seq, r.journal_bytes, h.undoes
        from (select * from held order by workspace_id, id) h, lateral (
          select r.steps, r.last_seq, r.journal_bytes from run r
          where r.workspace_id = any(array[h.workspace_id]) and r.id = h.id and (h.undoes or r.${LIVE})
          for no key update
        ) r
      ), reported as (
        select *, row_number() over (partition by run_id order by number) as place
        from unnest(${plainArray(steps.map(({ run }) => run.id))}::uuid[], ${textArray(steps.map((one) => one.key))}::text[],
          ${textArray(steps.map((one) => one.type))}::text[], ${textArray(steps.map((one) => one.status))}::step_status[],
          ${binaryTextArray(steps.map((one) => one.output))}::text[], ${binaryTextArray(steps.map((one) => one.error))}::text[],
          ${plainArray(steps.map((one) => one.attempt))}::int[], ${textArray(steps.map((one) => one.startedAt))}::timestamptz[],
          ${textArray(steps.map((one) => one.wakeAt))}::timestamptz[], ${plainArray(steps.map((one) => one.wakeInMs))}::float8[],
          ${textArray(steps.map((one) => one.signal))}::text[],
          ${plainArray(steps.map(({ childRunId = null }) => childRunId))}::uuid[], ${plainArray(steps.map(({ undoable = false }) => undoable))}::boolean[])
          with ordinality s (run_id, key, type, status, output, error, attempt, started_at, wake_at, wake_in_ms, signal, child_run_id, undoable, number)
      ), sized as (
        select s.run_id, count(*) as steps, sum(coalesce(octet_length(s.output), 0) + coalesce(octet_length(s.error), 0)) as bytes
        from reported s join locked l on l.id = s.run_id
        where not exists (
          select from run_step k where k.workspace_id = any(array[l.workspace_id]) and k.run_id = s.run_id and k.key = s.key offset 0)
        group by s.run_id
      ), fitting as (
        select l.* from locked l left join sized z on z.run_id = l.id
        where coalesce(l.steps + z.steps <= ${MAX_JOURNAL.steps} + case when l.undoes then ${UNDO_ROOM.steps} else 0 end
          and l.journal_bytes + z.bytes <= ${MAX_JOURNAL.bytes} + case when l.undoes then ${UNDO_ROOM.bytes} else 0 end, true)
      ), stored as (
        insert into run_step (workspace_id, run_id, key, seq, type, status, output, error, attempt, started_at, ended_at, wake_at, signal,
          child_run_id, undoable)
        select l.workspace_id, l.id, s.key, l.last_seq + s.place, s.type, s.status, s.output, s.error, s.attempt,
          coalesce(s.started_at, moment()), case when s.status <> 'waiting' then moment() end,
          coalesce(s.wake_at, moment() + s.wake_in_ms * interval '1 millisecond'), s.signal, s.child_run_id, s.undoable
        from reported s join fitting l on l.id = s.run_id
        on conflict (workspace_id, run_id, key) do nothing
        returning run_id, octet_length(output) as output_bytes, octet_length(error) as error_bytes
      ), awake as (
        update run_step w set status = 'completed', output = 'null', ended_at = moment(), seq = l.last_seq + s.place
        from reported s join fitting l on l.id = s.run_id
        where s.type = 'sleep' and s.status = 'completed' and w.workspace_id = any(array[l.workspace_id]) and w.run_id = any(array(select id from fitting))
          and w.run_id = l.id and w.key = s.key
          and w.type = 'sleep' and w.status = 'waiting'
      ), counted as (
        update run r set steps = r.steps + (select count(*) from stored where stored.run_id = r.id),
          last_seq = r.last_seq + (select count(*) from reported where reported.run_id = r.id),
          journal_bytes = r.journal_bytes
            + coalesce((select sum(coalesce(output_bytes, 0) + coalesce(error_bytes, 0)) from stored where stored.run_id = r.id), 0)
        from fitting l
        where r.workspace_id = any(array(select workspace_id from fitting)) and r.id = any(array(select id from fitting)) and r.workspace_id = l.workspace_id and r.id = l.id
        returning r.id, r.steps
      )
      select id, steps from counted
      union all
      select id, null from locked where id not in (select id from fitting)`,
  );
  return new Map(stored.map((one) => [one.id, one.steps]));
}
