import { binaryTextArray, type Db, fragment, plainArray, row, sql, textArray, toMoment } from "#kernel";
import type { JobKey } from "../job.ts";
import { COUNT_ADDED } from "./counts.ts";
import { ASSIGN_SLOTS_OF_WAITING } from "./fragments.ts";

/** A job that a module enqueues into a lane of its own. */
export interface InternalJob extends JobKey {
  readonly kind: string;
  /** JSON text. */
  readonly payload: string;
  /** Jobs of a lane with a higher priority come first. Default: 0. */
  readonly priority?: number;
  readonly attempts: number;
  /** Attempts of an earlier job with this id, which are not counted. Default: 0. */
  readonly spared?: number;
  readonly backoffDelayMs: number;
  /** Milliseconds since 1970; null: due now. */
  readonly runAtMs: number | null;
  readonly concurrencyKey: string | null;
  /** The version of the code whose workers get the job, as long as they poll. Default: null, any version. */
  readonly version?: string | null;
}

/** Inserts jobs of kinds that callers do not enqueue, in the transaction that needs them. Returns how many are due now. */
export const insertInternalJobs = async (tx: Db, jobs: readonly InternalJob[]): Promise<number> =>
  (
    await row<{ waiting: number }>(
      tx,
      sql`
        with moved as (
          insert into job (workspace_id, lane_id, id, kind, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at, created_at, concurrency_key, payload, code_version)
          select workspace_id, lane_id, id, kind, case when run_at > moment() then 'delayed' else 'waiting' end::job_state, priority, spared, spared, attempts,
            backoff_delay_ms, coalesce(run_at, moment()), moment(), concurrency_key, payload, version
          from unnest(${plainArray(jobs.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(jobs.map(({ laneId }) => laneId))}::bigint[],
            ${plainArray(jobs.map(({ id }) => id))}::uuid[], ${textArray(jobs.map(({ kind }) => kind))}::job_kind[],
            ${plainArray(jobs.map(({ priority = 0 }) => priority))}::smallint[], ${plainArray(jobs.map(({ spared = 0 }) => spared))}::int[], ${plainArray(jobs.map(({ attempts }) => attempts))}::int[], ${plainArray(jobs.map(({ backoffDelayMs }) => backoffDelayMs))}::int[],
            ${textArray(jobs.map(({ runAtMs }) => (runAtMs === null ? null : toMoment(runAtMs))))}::timestamptz[],
            ${textArray(jobs.map(({ concurrencyKey }) => concurrencyKey))}::text[], ${binaryTextArray(jobs.map(({ payload }) => payload))}::text[],
            ${textArray(jobs.map(({ version = null }) => version))}::text[])
            as j (workspace_id, lane_id, id, kind, priority, spared, attempts, backoff_delay_ms, run_at, concurrency_key, payload, version)
          returning workspace_id, lane_id, state, concurrency_key
        ), tallied as (
          ${COUNT_ADDED}
        )
        select count(*) filter (where state = 'waiting') as waiting, ${ASSIGN_SLOTS_OF_WAITING} as assigned from moved`,
    )
  )?.waiting ?? 0;

/**
 * Inserts the jobs of runs from CTE `ready`, in their `state`: those that are active are held by the worker with `lease_id` for `lease_seconds`,
 * and count as taken by its call `request`. It returns what CTE `moved` has (counts.ts).
 */
export const INSERT_RUN_JOBS = fragment`
  insert into job (workspace_id, lane_id, id, kind, state, priority, attempt, attempts, backoff_delay_ms, run_at, created_at, payload,
    lease_id, lease_until, lease_request, started_at, code_version)
  select workspace_id, lane_id, id, 'run', state, 0, is_held::int, attempts, backoff_delay_ms, coalesce(run_at, moment()), moment(), payload,
    case when is_held then lease_id end, case when is_held then moment() + lease_seconds * interval '1 second' end,
    case when is_held then request end, case when is_held then moment() end, case when is_held then version end
  from ready
  returning workspace_id, lane_id, state`;
