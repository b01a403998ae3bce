import type { Hook, RunStatus } from "@tidemill/contract";
import type { NamedClaim } from "#jobs";
import { type Db, fragment, plainArray, type RunId, row, rows, sql, type Timestamp, textArray, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { RunKey } from "./run.ts";

const LIVE = fragment`status not in ('completed', 'failed', 'cancelled')`;

/** A run whose execution begins. Input and trigger are JSON texts. */
export interface BegunRun {
  readonly id: RunId;
  readonly version: string | null;
  readonly failures: number;
  readonly attempts: number;
  readonly input: string;
  readonly trigger: string;
  readonly created_at: Timestamp;
}

/**
 * Begins executions: sleeps that are over end, and waits whose signal was completed or whose time has passed, in the order of their
 * ends. A payload that is there counts, also if the time has passed since. The runs are running. Returns those that have not ended meanwhile.
 * Uses the primary keys.
 */
export const beginExecutions = (db: Db, workspaceId: WorkspaceId, ids: readonly RunId[], version: string | null): Promise<BegunRun[]> =>
  rows(
    db,
    sql`
      with begun as (
        select workspace_id, id from run where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[]) and ${LIVE} for no key update
      ), pending as (
        select s.workspace_id, s.run_id, s.key, s.seq, s.wake_at, s.signal
        from begun join run_step s on s.workspace_id = any(array[begun.workspace_id]) and s.run_id = begun.id and s.status = 'waiting'
      ), awaited as (
        select g.workspace_id, g.id, g.run_id, g.payload, g.completed_at
        from pending p join signal g on g.workspace_id = any(array[p.workspace_id]) and g.id = p.signal and g.run_id = p.run_id and not g.consumed
        for update of g
      ), over as (
        select p.*, g.payload, coalesce(g.completed_at, p.wake_at) as ended_at, p.signal is not null and g.payload is null as timed_out,
          row_number() over (partition by p.run_id order by coalesce(g.completed_at, p.wake_at), p.seq) as place
        from pending p left join (select distinct on (workspace_id, id) * from awaited) g
          on g.workspace_id = p.workspace_id and g.id = p.signal and g.run_id = p.run_id
        where p.wake_at <= moment() or g.payload is not null
      ), woken as (
        update run_step s set status = case when over.timed_out then 'failed' else 'completed' end::step_status,
          output = case when not over.timed_out then coalesce(over.payload, 'null') end,
          error = case when over.timed_out then json_build_object('name', 'SignalTimeoutError',
            'message', 'The signal "' || over.signal || '" was not completed in time.')::text end,
          ended_at = over.ended_at, seq = r.steps + over.place
        from over join run r on r.workspace_id = any(array[over.workspace_id]) and r.id = over.run_id
        where s.workspace_id = any(array[over.workspace_id]) and s.run_id = over.run_id and s.key = over.key
      ), consumed as (
        update signal g set consumed = true from over
        where not over.timed_out and g.workspace_id = any(array[over.workspace_id]) and g.id = over.signal and g.run_id = over.run_id
      ), forgotten as (
        delete from signal g using over
        where over.timed_out and not g.registered and g.workspace_id = any(array[over.workspace_id]) and g.id = over.signal
          and g.run_id = over.run_id and g.payload is null
      )
      update run r set status = 'running', started_at = coalesce(started_at, moment()), version = coalesce(version, ${version}),
        next_attempt_at = null, steps = steps + (select count(*) from over where over.run_id = r.id)
      where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[]) and ${LIVE}
      returning id, version, failures, attempts, input, trigger, created_at`,
  );

/**
 * Locks the job of a run and then the run, as a settle does, for a report on it. Null unless the claim holds and the run has not ended. Uses
 * the primary keys.
 */
export const lockExecution = (tx: Db, { workspaceId, id }: RunKey, claim: NamedClaim): Promise<{ steps: number } | null> =>
  row(
    tx,
    sql`
      with held as (
        select from job where workspace_id = ${workspaceId} and lane_id = ${claim.laneId} and id = ${id} and state = 'active'
          and lease_id is not distinct from ${claim.leaseId}::bigint and attempt = ${claim.attempt}
        for share
      )
      select steps from run where workspace_id = ${workspaceId} and id = ${id} and ${LIVE} and exists (select from held) for no key update`,
  );

/** A step to store. Output and error are JSON texts. */
export interface StepToInsert {
  readonly key: string;
  readonly type: string;
  readonly status: "completed" | "failed" | "waiting";
  readonly output: string | null;
  readonly error: string | null;
  readonly attempt: number;
  readonly startedAt: Timestamp | null;
  /** When a sleep ends: a time, or milliseconds from now. */
  readonly wakeAt: Timestamp | null;
  readonly wakeInMs: number | null;
  /** The signal that a step waits for, or has registered. */
  readonly signal: string | null;
  /** Whether the program can undo it. Not unless given. */
  readonly undoable?: boolean;
}

/** Which of these keys a journal has. Uses the primary key. */
export const findKeys = async (tx: Db, { workspaceId, id }: RunKey, keys: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set(
    (
      await rows<{ key: string }>(
        tx,
        sql`select key from run_step where workspace_id = ${workspaceId} and run_id = ${id} and key = any(${textArray(keys)}::text[])`,
      )
    ).map(({ key }) => key),
  );

/** Adds steps to the journal of a run that is locked. Steps that it has are left as they are. Returns how many it has. Uses the primary key. */
export const insertSteps = async (tx: Db, { workspaceId, id }: RunKey, steps: readonly StepToInsert[]): Promise<number> =>
  (
    await row<{ steps: number }>(
      tx,
      sql`
        with reported as (
          select * from unnest(${textArray(steps.map((one) => one.key))}::text[], ${textArray(steps.map((one) => one.type))}::text[],
            ${textArray(steps.map((one) => one.status))}::step_status[], ${textArray(steps.map((one) => one.output))}::text[],
            ${textArray(steps.map((one) => one.error))}::text[], ${plainArray(steps.map((one) => one.attempt))}::int[],
            ${textArray(steps.map((one) => one.startedAt))}::timestamptz[], ${textArray(steps.map((one) => one.wakeAt))}::timestamptz[],
            ${plainArray(steps.map((one) => one.wakeInMs))}::float8[], ${textArray(steps.map((one) => one.signal))}::text[],
            ${plainArray(steps.map((one) => one.undoable ?? false))}::boolean[])
            with ordinality s (key, type, status, output, error, attempt, started_at, wake_at, wake_in_ms, signal, undoable, place)
        ), stored as (
          insert into run_step (workspace_id, run_id, key, seq, type, status, output, error, attempt, started_at, ended_at, wake_at, signal, undoable)
          select ${workspaceId}, ${id}, key, (select steps from run where workspace_id = ${workspaceId} and id = ${id}) + place, type, status,
            output, error, attempt, coalesce(started_at, moment()), case when status <> 'waiting' then moment() end,
            coalesce(wake_at, moment() + wake_in_ms * interval '1 millisecond'), signal, undoable
          from reported
          on conflict (workspace_id, run_id, key) do nothing
          returning key
        )
        update run set steps = steps + (select count(*) from stored) where workspace_id = ${workspaceId} and id = ${id} returning steps`,
    )
  )?.steps ?? 0;

/** What a suspended run waits for. */
export interface Pending {
  /** When the first of its waiting steps ends. Null: none waits. */
  readonly at: Timestamp | null;
  /** Whether one of them waits for a signal. */
  readonly for_signal: boolean;
}

/** A wait whose signal was completed meanwhile ends now. Uses the primary keys. */
export const findPending = async (tx: Db, { workspaceId, id }: RunKey): Promise<Pending> =>
  (await row<Pending>(
    tx,
    sql`
      select min(case when exists (
          select from signal g
          where g.workspace_id = ${workspaceId} and g.id = s.signal and g.run_id = ${id} and g.payload is not null and not g.consumed)
        then moment() else s.wake_at end) as at, coalesce(bool_or(s.signal is not null), false) as for_signal
      from run_step s where s.workspace_id = ${workspaceId} and s.run_id = ${id} and s.status = 'waiting'`,
  )) ?? { at: null, for_signal: false };

export const setStatus = (
  tx: Db,
  { workspaceId, id }: RunKey,
  status: Extract<RunStatus, "running" | "sleeping" | "waiting">,
): Promise<unknown> =>
  rows(tx, sql`update run set status = ${status}::run_status where workspace_id = ${workspaceId} and id = ${id} and ${LIVE}`);

/** An execution failed, and another one follows. */
export const recordFailure = (tx: Db, { workspaceId, id }: RunKey, error: string, waitMs: number): Promise<unknown> =>
  rows(
    tx,
    sql`
      update run set failures = failures + 1, error = ${error}, next_attempt_at = moment() + ${waitMs} * interval '1 millisecond'
      where workspace_id = ${workspaceId} and id = ${id} and ${LIVE}`,
  );

export interface RunEnd {
  readonly status: Extract<RunStatus, "completed" | "failed" | "cancelled">;
  readonly result?: string | null;
  readonly error?: string;
  /** The attempt of its job. */
  readonly executions: number;
}

/** A run that has ended just now. */
export interface EndedRun {
  readonly laneId: LaneId;
  /** Whether it was ever executed. */
  readonly started: boolean;
  readonly attempt: number;
  /** JSON text. */
  readonly error: string | null;
  /** The lifecycle hooks of its workflow. */
  readonly hooks: readonly Hook[];
}

/** Ends a run that has not ended, with the retention of its workspace's plan. Returns null if it had ended. Uses the primary keys. */
export const markEnded = (
  tx: Db,
  { workspaceId, id }: RunKey,
  { status, result = null, error, executions }: RunEnd,
): Promise<EndedRun | null> =>
  row(
    tx,
    sql`
      with ended as (
        update run r set status = ${status}::run_status, result = ${result}, ended_at = moment(), next_attempt_at = null, executions = ${executions},
          error = case when ${status} = 'completed' then null else coalesce(${error ?? null}, error) end,
          expires_at = coalesce(moment() + w.retention_days * interval '1 day', 'infinity')
        from workspace w
        where r.workspace_id = ${workspaceId} and r.id = ${id} and w.id = r.workspace_id and r.${LIVE}
        returning r.lane_id, r.started_at, r.failures, r.error
      )
      select e.lane_id as "laneId", e.started_at is not null as started, e.failures + 1 as attempt, e.error, coalesce(f.hooks, '{}') as hooks
      from ended e left join workflow f on f.workspace_id = ${workspaceId} and f.id = e.lane_id`,
  );
