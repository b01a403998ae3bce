import { journalTooLargeError, MAX_JOURNAL } from "@tidemill/contract";
import type { NamedClaim } from "#jobs";
import { type Db, fragment, plainArray, type RunId, row, rows, sql, type Timestamp, type Transactional, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { LIVE, type RunKey } from "../runs/run.ts";
import { RUN_BYTES } from "../runs/run-store.ts";
import { lockAwaitedSignals } from "../signals/signal-store.ts";
import { lockRunsAcrossWorkspaces } from "../steps/wait-store.ts";
import { endWaitForCode } from "./unfit-store.ts";

/** A run whose execution begins. Input and trigger are JSON texts. */
export interface BegunRun {
  readonly id: RunId;
  readonly version: string | null;
  readonly failures: number;
  readonly attempts: number;
  /** The input. Null: it is long, and must be read separately. */
  readonly input: string | null;
  readonly trigger: string;
  readonly created_at: Timestamp;
  readonly inputBytes: number;
  /** Steps in its journal. */
  readonly steps: number;
  /** The size of the outputs and errors in the journal. Bytes. */
  readonly journalBytes: number;
  /** The approximate length of input and journal as JSON text. Bytes. */
  readonly bytes: number;
}

/** Columns of a run: its input if it has at most 8 KiB, and how large input and journal are. */
export const INPUT_AND_SIZE = fragment`case when octet_length(input) <= 8192 then input end as input, octet_length(input) as "inputBytes",
  steps, journal_bytes as "journalBytes", ${RUN_BYTES} as bytes`;

/** An execution of a run that is to begin. */
interface ExecutionToBegin {
  readonly id: RunId;
  readonly laneId: LaneId;
  /** The attempt of its job. */
  readonly execution: number;
  /** The lease under which its job is held. */
  readonly leaseId: number;
}

/** A pattern for PostgreSQL's `format`, which inserts the key of the step. */
const NO_ROOM = journalTooLargeError([{ key: "%s" }]);

/**
 * Begins executions. Waits that are over end, in the order in which they were over. A step fails if the journal has no room for what it has
 * waited for. The runs get the status `running`, also those that waited for other code, and from now on an earlier execution may not add to
 * their journals. Returns the runs that have not ended in the meantime. An execution that waited for long may have lost its job: it does not
 * begin if its run waits for more than time, because nothing would wake the run. Uses the primary keys.
 */
export async function beginExecutions(
  database: Transactional,
  workspaceId: WorkspaceId,
  executions: readonly ExecutionToBegin[],
  version: string | null,
): Promise<BegunRun[]> {
  const begun = await begin(database, workspaceId, executions, version, false);
  const found = new Set(begun.map(({ id }) => id));
  const waiting = executions.filter(({ id }) => !found.has(id));
  if (waiting.length === 0) return begun;
  const others = await database.transaction(async (tx) => {
    const held = await lockClaims(tx, workspaceId, waiting);
    if (held.length === 0) return [];
    const ids = held.map(({ id }) => id);
    await lockRunsAcrossWorkspaces(
      tx,
      ids.map((id) => ({ workspaceId, id })),
    );
    // A statement after the locks sees what their previous holders have committed.
    await lockAwaitedSignals(tx, workspaceId, ids);
    await endWaitForCode(tx, workspaceId, ids);
    return begin(tx, workspaceId, held, version, true);
  });
  return [...begun, ...others];
}

/** Locks the jobs of executions, as a settle does. Returns the executions whose claims still hold. Uses the primary key. */
async function lockClaims(tx: Db, workspaceId: WorkspaceId, executions: readonly ExecutionToBegin[]): Promise<ExecutionToBegin[]> {
  const locked = await rows<{ id: RunId }>(
    tx,
    sql`
      select c.id from (
        select * from unnest(${plainArray(executions.map((one) => one.laneId))}::bigint[], ${plainArray(executions.map((one) => one.id))}::uuid[],
          ${plainArray(executions.map((one) => one.leaseId))}::bigint[], ${plainArray(executions.map((one) => one.execution))}::int[])
          as c (lane_id, id, lease_id, attempt)
        order by lane_id, id
      ) c,
      lateral (
        select from job j
        where j.workspace_id = any(array[${workspaceId}::uuid]) and j.lane_id = c.lane_id and j.id = c.id and j.lease_id = c.lease_id
          and j.attempt = c.attempt
        for share
      ) held`,
  );
  const held = new Set(locked.map(({ id }) => id));
  return executions.filter(({ id }) => held.has(id));
}

/** @param all whether to include runs that wait for more than time. The caller has then locked their jobs and signals */
function begin(
  db: Db,
  workspaceId: WorkspaceId,
  executions: readonly ExecutionToBegin[],
  version: string | null,
  all: boolean,
): Promise<BegunRun[]> {
  const ids = plainArray(executions.map(({ id }) => id));
  return rows(
    db,
    sql`
      with begun as (
        select workspace_id, id, last_seq, journal_bytes from run where workspace_id = ${workspaceId} and id = any(${ids}::uuid[]) and ${LIVE}
          and (${all}::boolean or status <> 'waiting' and not exists (
            select from run_step s
            where s.workspace_id = run.workspace_id and s.run_id = run.id and s.status = 'waiting' and s.type <> 'sleep' offset 0))
        order by id for no key update
      ), pending as (
        select begun.last_seq, begun.journal_bytes, s.workspace_id, s.run_id, s.key, s.seq, s.type, s.attempt, s.started_at, s.wake_at, s.signal, s.error, s.output,
          s.child_run_id, s.answered_at,
          s.signal is not null and g.id is null as is_lost, g.payload, g.completed_at,
          s.child_run_id is not null and (c.id is null or c.ended_at is not null) as has_child_ended,
          c.status as child_status, c.result as child_result, c.error as child_error, c.ended_at as child_ended_at, c.workflow as child_workflow
        from begun cross join lateral (
          select * from run_step s where s.workspace_id = any(array[begun.workspace_id]) and s.run_id = begun.id and s.status = 'waiting' offset 0
        ) s
        left join lateral (
          -- "is not distinct from" keeps the planner from index signal_run.
          select * from signal g
          where g.workspace_id = any(array[s.workspace_id]) and g.id = s.signal and g.run_id is not distinct from s.run_id and not g.consumed offset 0
        ) g on true
        left join lateral (
          select r.id, r.status, r.result, r.error, r.ended_at, l.name as workflow
          from run r join lane l on l.workspace_id = any(array[r.workspace_id]) and l.id = r.lane_id
          where r.workspace_id = any(array[s.workspace_id]) and r.id = s.child_run_id offset 0
        ) c on s.child_run_id is not null
      ), looked_at as (
        select *, coalesce(error is not null or is_lost or payload is not null or has_child_ended or answered_at is not null or wake_at <= moment(), false) as is_over
        from pending
      ), over as (
        select p.*, p.error is not null or p.signal is not null and p.payload is null or p.child_run_id is not null and p.child_status is distinct from 'completed' as has_failed,
          -- A run that was deleted with its workflow has ended, but nobody knows when. Its timeout may not be over.
          least(
            coalesce(p.answered_at, case when p.error is not null or p.is_lost then moment() end, p.completed_at, p.child_ended_at, p.wake_at), moment()
          ) as ended_at
        from (select *, bool_and(is_over) over (partition by run_id, signal) as none_waits from looked_at) p where p.is_over
      ), measured as (
        -- An error that a step had from the first was counted then. Lengths are known without reading the texts.
        select *, coalesce(case
          when error is not null then case when answered_at is not null then octet_length(error) end
          when child_run_id is not null then case child_status when 'completed' then octet_length(child_result) when 'failed' then octet_length(child_error) end
          when signal is not null then octet_length(payload)
          else octet_length(output) end, 0) as bytes
        from over
      ), added as (
        select *, row_number() over next as place, sum_fitting(bytes, ${MAX_JOURNAL.bytes} - journal_bytes) over next as used
        from measured window next as (partition by run_id order by ended_at, seq rows unbounded preceding)
      ), placed as (
        select *, used - coalesce(lag(used) over (partition by run_id order by place), 0) = bytes as fits from added
      ), woken as (
        -- Each step has a row. As an insert it is found by the primary key, however many steps the planner expects.
        insert into run_step (workspace_id, run_id, key, type, attempt, started_at, wake_at, signal, child_run_id, answered_at, ended_at, seq, status, output, error)
        select o.workspace_id, o.run_id, o.key, o.type, o.attempt, o.started_at, o.wake_at, o.signal, o.child_run_id, o.answered_at, o.ended_at,
          -- Taken from the locked row: a step of the previous execution may have been stored since the statement began.
          o.last_seq + o.place,
          case when o.has_failed or not o.fits then 'failed' else 'completed' end::step_status,
          -- A step that invoked a run has its id as output from the first, and keeps it when it fails.
          case when o.child_run_id is not null and (o.has_failed or not o.fits) then o.output
            when o.has_failed or not o.fits then null
            when o.child_run_id is not null then '{"result":' || o.child_result || ',' || substr(o.output, 2)
            when o.answered_at is not null then o.output else coalesce(o.payload, 'null') end,
          case when not o.fits then error_text(${NO_ROOM.name}, format(${NO_ROOM.message}, o.key))
            when not o.has_failed then null
            when o.error is not null then o.error
            when o.child_run_id is null and o.is_lost
              then error_text('SignalTakenError', 'The signal "' || o.signal || '" belongs to another run, which has not ended.')
            when o.child_run_id is null then error_text('SignalTimeoutError', 'The signal "' || o.signal || '" was not completed in time.')
            when o.child_status = 'failed' then (
              -- The message of the innermost run, not one that repeats the messages of all runs between.
              select error_text('WorkflowFailedError', case when e.name = 'WorkflowFailedError' then e.message
                else 'The run of "' || o.child_workflow || '" failed: ' || e.name || ': ' || e.message end)
              from json_to_record(o.child_error::json) as e (name text, message text))
            when o.child_status = 'cancelled' then error_text('WorkflowCancelledError', 'The run of "' || o.child_workflow || '" was cancelled.')
            when o.has_child_ended then error_text('WorkflowCancelledError', 'The run was deleted with its workflow.')
            else error_text('WorkflowTimeoutError', 'The run of "' || o.child_workflow || '" did not end in time. It goes on.') end
        from placed o
        on conflict (workspace_id, run_id, key) do update set status = excluded.status, output = excluded.output, error = excluded.error,
          ended_at = excluded.ended_at, seq = excluded.seq
      ), consumed as (
        update signal g set consumed = true
        where g.workspace_id = ${workspaceId} and g.run_id = any(array(select run_id from over where signal is not null)) and not g.consumed
          and ((g.run_id, g.id) in (select run_id, signal from placed where signal is not null and not has_failed and fits)) is true
      ), forgotten as (
        delete from signal g
        where g.workspace_id = ${workspaceId} and g.run_id = any(array(select run_id from over where signal is not null))
          and not g.registered and g.payload is null
          and ((g.run_id, g.id) in (
            select run_id, signal from over where signal is not null and has_failed and not is_lost and error is null and none_waits)) is true
      )
      update run r set status = 'running', started_at = coalesce(started_at, moment()), version = case when started_at is null then ${version}::text else version end,
        last_execution = greatest(r.last_execution, e.execution),
        open_lease_id = case when e.execution < r.last_execution then r.open_lease_id else e.lease_id end,
        next_attempt_at = null, last_seq = last_seq + (select count(*) from over where over.run_id = r.id),
        journal_bytes = r.journal_bytes + coalesce((select sum(bytes) filter (where fits) from placed where placed.run_id = r.id), 0)
      from unnest(${ids}::uuid[], ${plainArray(executions.map((one) => one.execution))}::int[],
        ${plainArray(executions.map((one) => one.leaseId))}::bigint[]) as e (run_id, execution, lease_id)
      where workspace_id = ${workspaceId} and id = any(array(select id from begun)) and id = e.run_id
      returning id, version, failures, attempts, trigger, created_at, ${INPUT_AND_SIZE}`,
  );
}

/** Ends executions that have no outcome: they may no longer add to the journals of their runs. Uses the primary key. */
export const closeExecutionsAcrossWorkspaces = (tx: Db, runs: readonly RunKey[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      update run r set open_lease_id = null, spared_error = null
      from unnest(${plainArray(runs.map((one) => one.workspaceId))}::uuid[], ${plainArray(runs.map((one) => one.id))}::uuid[]) as e (workspace_id, id)
      where r.workspace_id = any(array[e.workspace_id]) and r.id = e.id and r.open_lease_id is not null`,
  );

/**
 * Locks the job of a run and then the run, as a settle does, for a report on it. Returns null if the claim no longer holds, or if the run
 * has ended or was deleted with its workflow (its rows stay until they are swept). Uses the primary keys.
 */
export const lockExecution = (tx: Db, { workspaceId, id }: RunKey, claim: NamedClaim): Promise<{ steps: number } | null> =>
  row(
    tx,
    sql`
      with held as (
        select from job where workspace_id = ${workspaceId} and lane_id = ${claim.laneId} and id = ${id}
          and lease_id is not distinct from ${claim.leaseId}::bigint and attempt = ${claim.attempt}
        for share
      )
      select steps from run where workspace_id = ${workspaceId} and id = ${id} and ${LIVE} and exists (select from held)
        and exists (select from lane l where l.workspace_id = ${workspaceId} and l.id = ${claim.laneId} and coalesce(l.deleted_at, 'infinity') = 'infinity')
      for no key update`,
  );
