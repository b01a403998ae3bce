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
 * Begins executions: sleeps that are over end, in the order of their ends, and the runs are running. Returns those that have not ended
 * meanwhile. Uses the primary keys.
 */
export const beginExecutions = (db: Db, workspaceId: WorkspaceId, ids: readonly RunId[], version: string | null): Promise<BegunRun[]> =>
  rows(
    db,
    sql`
      with over as (
        select s.workspace_id, s.run_id, s.key, row_number() over (partition by s.run_id order by s.wake_at, s.seq) as place
        from unnest(${plainArray(ids.map(() => workspaceId))}::uuid[], ${plainArray(ids)}::uuid[]) given (workspace_id, id)
        join run_step s on s.workspace_id = any(array[given.workspace_id]) and s.run_id = given.id and s.status = 'waiting'
          and s.wake_at <= moment()
      ), woken as (
        update run_step s set status = 'completed', output = 'null', ended_at = s.wake_at, seq = r.steps + over.place
        from over join run r on r.workspace_id = any(array[over.workspace_id]) and r.id = over.run_id
        where s.workspace_id = any(array[over.workspace_id]) and s.run_id = over.run_id and s.key = over.key
      )
      update run r set status = 'running', started_at = coalesce(started_at, moment()), version = coalesce(version, ${version}),
        next_attempt_at = null, steps = steps + (select count(*) from over where over.run_id = r.id)
      where workspace_id = ${workspaceId} and id = any(${plainArray(ids)}::uuid[]) and ${LIVE}
      returning id, version, failures, attempts, input, trigger, created_at`,
  );

/** Locks the job of a run and then the run, as a settle does, for a report on it. Null unless the claim holds. Uses the primary keys. */
export const lockExecution = (tx: Db, { workspaceId, id }: RunKey, claim: NamedClaim): Promise<{ steps: number } | null> =>
  row(
    tx,
    sql`
      with held as (
        select from job where workspace_id = ${workspaceId} and lane_id = ${claim.laneId} and id = ${id} and state = 'active'
          and lease_id is not distinct from ${claim.leaseId}::bigint and attempt = ${claim.attempt}
        for share
      )
      select steps from run where workspace_id = ${workspaceId} and id = ${id} and exists (select from held) for no key update`,
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
}

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
            ${plainArray(steps.map((one) => one.wakeInMs))}::float8[])
            with ordinality s (key, type, status, output, error, attempt, started_at, wake_at, wake_in_ms, place)
        ), stored as (
          insert into run_step (workspace_id, run_id, key, seq, type, status, output, error, attempt, started_at, ended_at, wake_at)
          select ${workspaceId}, ${id}, key, (select steps from run where workspace_id = ${workspaceId} and id = ${id}) + place, type, status,
            output, error, attempt, coalesce(started_at, moment()), case when status <> 'waiting' then moment() end,
            coalesce(wake_at, moment() + wake_in_ms * interval '1 millisecond')
          from reported
          on conflict (workspace_id, run_id, key) do nothing
          returning key
        )
        update run set steps = steps + (select count(*) from stored) where workspace_id = ${workspaceId} and id = ${id} returning steps`,
    )
  )?.steps ?? 0;

/** When the first of a run's waiting steps ends. Null: none waits. Uses the primary key. */
export const findNextWake = async (tx: Db, { workspaceId, id }: RunKey): Promise<Timestamp | null> =>
  (
    await row<{ at: Timestamp | null }>(
      tx,
      sql`select min(wake_at) as at from run_step where workspace_id = ${workspaceId} and run_id = ${id} and status = 'waiting'`,
    )
  )?.at ?? null;

export const setStatus = (tx: Db, { workspaceId, id }: RunKey, status: Extract<RunStatus, "running" | "sleeping">): Promise<unknown> =>
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
