import type { Plan } from "@tidemill/contract";
import type { JobKey } from "#jobs";
import { binaryTextArray, type Db, type JobId, plainArray, type RunId, row, rows, sql, textArray, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import { type PendingCall, type RunKey, WAITS_FOR_CODE } from "../runs/run.ts";

/** Where the calls of a run wait. */
export interface CallLane {
  /** The name of the run's workflow. */
  readonly workflow: string;
  readonly plan: Plan;
  /** Null: no run of the workflow has called yet. */
  readonly lane_id: LaneId | null;
}

/** Returns null when the workflow was deleted. Uses the primary keys and index lane_name. */
export const findCallLane = (tx: Db, { workspaceId, id }: RunKey): Promise<CallLane | null> =>
  row(
    tx,
    sql`
      select l.name as workflow, w.plan, h.id as lane_id
      from run r
      join lane l on l.workspace_id = r.workspace_id and l.id = r.lane_id and l.deleted_at is null
      join workspace w on w.id = r.workspace_id
      left join lane h on h.workspace_id = r.workspace_id and h.kind = 'http' and h.name = l.name and h.deleted_at is null
      where r.workspace_id = ${workspaceId} and r.id = ${id}`,
  );

/** A call of a step, by its job. */
export interface CallToInsert extends JobKey {
  readonly key: string;
  readonly method: string;
  readonly url: string;
}

export const insertCalls = (tx: Db, { workspaceId, id }: RunKey, calls: readonly CallToInsert[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      insert into run_call (workspace_id, id, lane_id, run_id, key, method, url)
      select ${workspaceId}, c.id, c.lane_id, ${id}, c.key, c.method, c.url
      from unnest(${plainArray(calls.map((one) => one.id))}::uuid[], ${plainArray(calls.map((one) => one.laneId))}::bigint[],
        ${textArray(calls.map((one) => one.key))}::text[], ${textArray(calls.map((one) => one.method))}::text[],
        ${textArray(calls.map((one) => one.url))}::text[]) as c (id, lane_id, key, method, url)`,
  );

/** The calls of a run that have no outcome yet. Uses index run_call_run, and the primary key of job. */
export const findPendingCalls = (db: Db, { workspaceId, id }: RunKey): Promise<PendingCall[]> =>
  rows(
    db,
    sql`
      select c.key, c.method, c.url, j.attempt - j.spared as attempt, j.attempts, case when j.state = 'delayed' then j.run_at end as next_attempt_at,
        j.last_error::json as last_error
      from run_call c cross join lateral (
        select * from job where job.workspace_id = any(array[c.workspace_id]) and job.lane_id = c.lane_id and job.id = c.id offset 0
      ) j
      where c.workspace_id = ${workspaceId} and c.run_id = ${id}`,
  );

/** Deletes the calls of a run, and returns their jobs. Uses index run_call_run. */
export const forgetCalls = (tx: Db, { workspaceId, id }: RunKey): Promise<JobKey[]> =>
  rows(
    tx,
    sql`
      delete from run_call where workspace_id = ${workspaceId} and run_id = ${id}
      returning workspace_id as "workspaceId", lane_id as "laneId", id`,
  );

/** The job of a call, and the run that it is for. */
export interface CallOfRun {
  readonly id: JobId;
  readonly workspaceId: WorkspaceId;
  readonly runId: RunId;
  /** The lane of the run. */
  readonly laneId: LaneId;
}

/** The calls of these jobs whose runs have not ended. Uses the primary keys. */
export const findLiveCallsAcrossWorkspaces = (tx: Db, jobs: readonly JobKey[]): Promise<CallOfRun[]> =>
  rows(
    tx,
    sql`
      select c.id, c.workspace_id as "workspaceId", c.run_id as "runId", r.lane_id as "laneId"
      from unnest(${plainArray(jobs.map((one) => one.workspaceId))}::uuid[], ${plainArray(jobs.map((one) => one.id))}::uuid[]) j (workspace_id, id)
      join run_call c on c.workspace_id = any(array[j.workspace_id]) and c.id = j.id
      join run r on r.workspace_id = any(array[c.workspace_id]) and r.id = c.run_id and r.ended_at is null`,
  );

/** Whether the run of a call waits for it. */
export const isCallWanted = async (db: Db, job: JobKey): Promise<boolean> =>
  (await findLiveCallsAcrossWorkspaces(db, [{ workspaceId: job.workspaceId, laneId: job.laneId, id: job.id }])).length > 0;

/** The outcome of a call: an output or an error, as JSON text. */
export interface CallOutcome {
  readonly workspaceId: WorkspaceId;
  readonly id: JobId;
  readonly output: string | null;
  readonly error: string | null;
  readonly attempt: number;
}

/**
 * Stores outcomes of calls with their steps. Returns the runs that are suspended and do not wait for other code: these may resume. Uses the
 * primary keys.
 */
export const storeCallOutcomesAcrossWorkspaces = (
  tx: Db,
  outcomes: readonly CallOutcome[],
): Promise<(LaneKey & { readonly runId: RunId })[]> =>
  rows(
    tx,
    sql`
      with answer as (
        select * from unnest(${plainArray(outcomes.map((one) => one.workspaceId))}::uuid[], ${plainArray(outcomes.map((one) => one.id))}::uuid[],
          ${binaryTextArray(outcomes.map((one) => one.output))}::text[], ${textArray(outcomes.map((one) => one.error))}::text[],
          ${plainArray(outcomes.map((one) => one.attempt))}::int[]) a (workspace_id, id, output, error, attempt)
      ), gone as (
        delete from run_call c using answer a where c.workspace_id = any(array[a.workspace_id]) and c.id = a.id
        returning c.workspace_id, c.run_id, c.key, a.output, a.error, a.attempt
      ), stored as (
        update run_step s set output = gone.output, error = gone.error, attempt = gone.attempt, answered_at = moment()
        from gone
        where s.workspace_id = any(array[gone.workspace_id]) and s.run_id = gone.run_id and s.key = gone.key and s.status = 'waiting'
          and s.answered_at is null
      )
      select distinct r.workspace_id as "workspaceId", r.lane_id as "laneId", r.id as "runId"
      from gone join run r on r.workspace_id = any(array[gone.workspace_id]) and r.id = gone.run_id
      where r.status in ('sleeping', 'waiting')
        and not ${WAITS_FOR_CODE}`,
  );
