import type { Hook, RunStatus } from "@tidemill/contract";
import { binaryTextArray, type Db, plainArray, type RunId, rows, sql, textArray } from "#kernel";
import type { LaneId } from "#lanes";
import { LIVE, type RunKey } from "../runs/run.ts";

/** How a run ends. Result and error are JSON texts. */
export interface RunEnd extends RunKey {
  readonly status: Extract<RunStatus, "completed" | "failed" | "cancelled">;
  readonly result?: string | null;
  readonly error?: string;
  /** Keys of the steps that a retry executes again. Null: the program did not say. */
  readonly retrySteps?: readonly string[] | null;
  /** The attempt of the run's job. 0: it has no job. */
  readonly executions: number;
  /** Whether the program of its last execution has reported this end. Default: false. */
  readonly isReported?: boolean;
  /** Whether the run's execution continues, and undoes its steps. */
  readonly isUndone?: boolean;
}

/** A run that has ended just now. */
export interface EndedRun {
  readonly id: RunId;
  readonly laneId: LaneId;
  /** Whether it was ever executed. */
  readonly started: boolean;
  readonly attempt: number;
  /** The last attempt of the job that the run has or had. */
  readonly executions: number;
  /** JSON text. */
  readonly error: string | null;
  /** Whether a step of another run has started it. */
  readonly hasParent: boolean;
  /** Whether its steps have calls without an outcome. */
  readonly hasCalls: boolean;
  /** The version of the code that started it. Null: it had no version, or the journal does not fit it. */
  readonly version: string | null;
  /** The lifecycle hooks of its workflow. */
  readonly hooks: readonly Hook[];
}

/** Ends these runs, except those that have already ended, with the retention of their workspace's plan. Uses the primary keys. */
export function markEndedAcrossWorkspaces(tx: Db, ends: readonly RunEnd[]): Promise<EndedRun[]> {
  const workspaceIds = plainArray(ends.map((one) => one.workspaceId));
  const ids = plainArray(ends.map((one) => one.id));
  return rows(
    tx,
    sql`
      with ended as (
        update run r set status = e.status, result = e.result, ended_at = moment(), next_attempt_at = null, open_lease_id = null,
          executions = coalesce(nullif(e.executions, 0), greatest(r.executions, r.last_execution)),
          retry_steps = e.retry_steps::text[], reported_execution = case when e.is_reported then e.executions else r.reported_execution end,
          error = case when e.status = 'completed' then null else coalesce(e.error, r.error) end,
          expires_at = coalesce(moment() + w.retention_days * interval '1 day', 'infinity')
        from unnest(${workspaceIds}::uuid[], ${ids}::uuid[],
          ${textArray(ends.map((one) => one.status))}::run_status[], ${binaryTextArray(ends.map(({ result = null }) => result))}::text[],
          ${binaryTextArray(ends.map(({ error = null }) => error))}::text[], ${plainArray(ends.map((one) => one.executions))}::int[],
          ${textArray(ends.map(({ retrySteps }) => (retrySteps ? textArray(retrySteps) : null)))}::text[],
          ${plainArray(ends.map(({ isReported = false }) => isReported))}::boolean[])
          as e (workspace_id, id, status, result, error, executions, retry_steps, is_reported)
        join workspace w on w.id = e.workspace_id
        where r.workspace_id = any(${workspaceIds}::uuid[]) and r.id = any(${ids}::uuid[]) and r.workspace_id = e.workspace_id and r.id = e.id and r.${LIVE}
        returning r.workspace_id, r.id, r.lane_id, r.started_at, r.failures, r.executions, r.error, r.parent_run_id, r.version
      )
      select e.id, e.lane_id as "laneId", e.started_at is not null as started, e.failures + 1 as attempt, e.executions, e.error,
        e.parent_run_id is not null as "hasParent", coalesce(f.hooks, '{}') as hooks,
        case when not exists (select from run_unfit u where u.workspace_id = any(array[e.workspace_id]) and u.run_id = e.id and e.version = any(u.tried))
          then e.version end as version,
        exists (select from run_call c where c.workspace_id = any(array[e.workspace_id]) and c.run_id = e.id) as "hasCalls"
      from ended e left join workflow f on f.workspace_id = any(array[e.workspace_id]) and f.id = e.lane_id`,
  );
}

/** A run whose execution failed, and which is executed again. */
export interface RunFailure extends RunKey {
  /** JSON text. */
  readonly error: string;
  readonly laneId: LaneId;
  /** False: the execution reached no program, or got further before it ended without an outcome (decisions 80 and 82). */
  readonly usesAttempt: boolean;
  /** The execution whose program has reported the failure. Null: none has. */
  readonly reported: number | null;
}

/** The jobs say when the next executions come. Uses the primary keys. */
export const recordFailuresAcrossWorkspaces = (tx: Db, failures: readonly RunFailure[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      update run r set failures = r.failures + f.uses_attempt::int, error = case when f.uses_attempt then f.error else r.error end,
        spared_error = case when not f.uses_attempt then f.error end,
        next_attempt_at = (
          select j.run_at from job j where j.workspace_id = any(array[f.workspace_id]) and j.lane_id = f.lane_id and j.id = f.id and j.state = 'delayed'),
        reported_execution = coalesce(f.reported, r.reported_execution), open_lease_id = null
      from unnest(${plainArray(failures.map((one) => one.workspaceId))}::uuid[], ${plainArray(failures.map((one) => one.id))}::uuid[],
        ${binaryTextArray(failures.map((one) => one.error))}::text[], ${plainArray(failures.map((one) => one.laneId))}::bigint[],
        ${plainArray(failures.map((one) => one.usesAttempt))}::bool[], ${plainArray(failures.map((one) => one.reported))}::int[])
        as f (workspace_id, id, error, lane_id, uses_attempt, reported)
      where r.workspace_id = any(array[f.workspace_id]) and r.id = f.id and r.${LIVE}`,
  );
