import type { AttemptError, JobState } from "@tidemill/contract";
import type { JobKey } from "#jobs";
import { type Db, plainArray, row, sql, textArray } from "#kernel";
import type { LaneKey } from "./claim.ts";

/* As in store.ts, the workspace is compared by `= any(array[…])` where jobs are looked up by key. */

/**
 * A claim's identity, with the log entry of the attempt that ended. Statements compare `node_id` by `is not distinct from`, which
 * no index serves: offered the equality, the planner walks all that the node holds (job_active) for every row it settles.
 */
interface Settled extends JobKey {
  readonly nodeId: number;
  readonly attempt: number;
  readonly logEntry: string;
}

/**
 * Moves completed jobs to history, where they stay as long as their workspace's plan keeps them. Answers how many claims were
 * still true. Leans on the primary key.
 */
export const completeAcrossWorkspaces = async (db: Db, settled: readonly (Settled & { result: string | null })[]): Promise<number> =>
  (
    await row<{ moved: number }>(
      db,
      sql`
        with gone as (
          delete from job j
          using unnest(${plainArray(settled.map((one) => one.workspaceId))}::uuid[], ${plainArray(settled.map((one) => one.laneId))}::bigint[],
            ${plainArray(settled.map((one) => one.id))}::uuid[], ${plainArray(settled.map((one) => one.nodeId))}::bigint[],
            ${plainArray(settled.map((one) => one.attempt))}::int[],
            ${textArray(settled.map((one) => one.result))}::text[], ${textArray(settled.map((one) => one.logEntry))}::text[])
            as s (workspace_id, lane_id, id, node_id, attempt, result, log_entry)
          where j.workspace_id = any(array[s.workspace_id]) and j.lane_id = s.lane_id and j.id = s.id
            and j.node_id is not distinct from s.node_id and j.attempt = s.attempt
          returning j.*, s.result, s.log_entry
        ), kept as (
          insert into job_history (workspace_id, lane_id, id, state, priority, attempt, spared, attempts, backoff_delay_ms, run_at,
            created_at, started_at, finished_at, tag, concurrency_key, payload, result, last_error, attempts_log, expires_at,
            schedule, scheduled_for, idempotency_key, approval)
          select g.workspace_id, lane_id, g.id, 'completed', priority, attempt, spared, attempts, backoff_delay_ms, run_at,
            g.created_at, started_at, moment(), tag, concurrency_key, payload, result, last_error,
            concat_ws(',', nullif(attempts_log, ''), log_entry),
            coalesce(moment() + w.retention_days * interval '1 day', 'infinity'), schedule, scheduled_for, idempotency_key,
            approval
          from gone g join workspace w on w.id = g.workspace_id
        ), counted as (
          select workspace_id, lane_id, count(*) as jobs from gone group by workspace_id, lane_id
        ), tallied as (
          insert into tally (workspace_id, lane_id, at, completed) select workspace_id, lane_id, moment(), jobs from counted
        ), used as (
          insert into usage_delta (workspace_id, lane_id, at, succeeded) select workspace_id, lane_id, moment(), jobs from counted
        )
        select count(*) as moved, (
          select arrange_keys(array_agg(workspace_id), array_agg(lane_id), array_agg(concurrency_key)) from gone
          where concurrency_key is not null) as arranged
        from gone`,
    )
  )?.moved ?? 0;

/** Where a job goes that did not complete. */
export interface NotCompleted extends Settled {
  readonly to: Extract<JobState, "waiting" | "delayed" | "failed">;
  readonly waitMs: number;
  /** The wait where no other job of the lane waits; null: the same. */
  readonly aloneWaitMs: number | null;
  /** `last_error` as JSON text; null leaves it as it was. */
  readonly error: string | null;
  readonly errorCode: AttemptError | null;
  /** Whether the attempt does not count. Null: it does unless the lane's circuit is open; then the job just waits again. */
  readonly spared: boolean | null;
}

/** A circuit that opens, unless the queue has been changed since `revision`. */
export interface Opening extends LaneKey {
  readonly revision: number;
  readonly probeInMs: number;
  readonly error: string | null;
}

/** A probe that closed nothing, and when the next one may go. */
export interface SpentProbe extends LaneKey {
  readonly failed: boolean;
  readonly probeInMs: number;
  readonly error: string | null;
}

/**
 * Puts jobs back to wait, or into the dead-letter queue, and moves the circuits that this opens or leaves open. Answers how many
 * claims were still true, and which circuits have opened.
 */
export const refuseAcrossWorkspaces = async (
  db: Db,
  settled: readonly NotCompleted[],
  openings: readonly Opening[] = [],
  probes: readonly SpentProbe[] = [],
): Promise<{ moved: number; opened: readonly LaneKey[] }> =>
  (await row(
    db,
    sql`
      with moved as (
        update job j set state = s.state, node_id = null, key_slot = null, node_losses = 0, last_error = coalesce(s.error, last_error),
          error_code = coalesce(s.error_code, j.error_code), spared = j.spared + s.spared::int,
          run_at = case when s.state = 'delayed' then moment() + s.wait_ms * interval '1 millisecond' else run_at end,
          finished_at = case when s.state = 'failed' then moment() end,
          attempts_log = concat_ws(',', nullif(attempts_log, ''), s.log_entry)
        from (
          select u.workspace_id, u.lane_id, u.id, u.node_id, u.attempt, u.error, u.error_code, u.log_entry,
            case when u.alone_wait_ms is not null and not exists (
              select from job other where other.workspace_id = u.workspace_id and other.lane_id = u.lane_id
                and other.state = 'waiting' and (other.concurrency_key is null or other.key_slot is not null))
            then u.alone_wait_ms else u.wait_ms end as wait_ms,
            coalesce(u.spared, held) as spared, case when held then 'waiting' else u.state end as state
          from unnest(${plainArray(settled.map((one) => one.workspaceId))}::uuid[], ${plainArray(settled.map((one) => one.laneId))}::bigint[],
            ${plainArray(settled.map((one) => one.id))}::uuid[], ${plainArray(settled.map((one) => one.nodeId))}::bigint[],
            ${plainArray(settled.map((one) => one.attempt))}::int[],
            ${textArray(settled.map((one) => one.to))}::job_state[], ${plainArray(settled.map((one) => one.waitMs))}::float8[],
            ${plainArray(settled.map((one) => one.aloneWaitMs))}::float8[],
            ${textArray(settled.map((one) => one.error))}::text[], ${textArray(settled.map((one) => one.errorCode))}::text[],
            ${textArray(settled.map((one) => one.logEntry))}::text[], ${plainArray(settled.map((one) => one.spared))}::boolean[])
            as u (workspace_id, lane_id, id, node_id, attempt, state, wait_ms, alone_wait_ms, error, error_code, log_entry, spared)
          cross join lateral (
            select u.spared is null and exists (select from circuit)
              and exists (select from circuit c where c.workspace_id = u.workspace_id and c.lane_id = u.lane_id) as held
            offset 0
          ) h
        ) s
        where j.workspace_id = any(array[s.workspace_id]) and j.lane_id = s.lane_id and j.id = s.id
          and j.node_id is not distinct from s.node_id and j.attempt = s.attempt
        returning j.workspace_id, j.lane_id, j.state, j.concurrency_key, s.spared
      ), tallied as (
        insert into tally (workspace_id, lane_id, at, failed)
        select workspace_id, lane_id, moment(), count(*) from moved where state = 'failed' group by workspace_id, lane_id
      ), used as (
        insert into usage_delta (workspace_id, lane_id, at, failed)
        select workspace_id, lane_id, moment(), count(*) from moved where not spared group by workspace_id, lane_id
      ), opened as (
        insert into circuit (workspace_id, lane_id, revision, probe_at, last_error)
        select q.workspace_id, q.id, q.revision, moment() + o.probe_in_ms * interval '1 millisecond', o.error
        from unnest(${plainArray(openings.map((one) => one.workspaceId))}::uuid[], ${plainArray(openings.map((one) => one.laneId))}::bigint[],
          ${plainArray(openings.map((one) => one.revision))}::int[], ${plainArray(openings.map((one) => one.probeInMs))}::float8[],
          ${textArray(openings.map((one) => one.error))}::text[]) as o (workspace_id, lane_id, revision, probe_in_ms, error)
        join queue q on q.workspace_id = o.workspace_id and q.id = o.lane_id and q.revision = o.revision and q.deleted_at is null
        order by q.workspace_id, q.id
        -- Whoever changes the queue is waited for, and what he makes of it is looked at.
        for share of q
        on conflict do nothing
        returning workspace_id as "workspaceId", lane_id as "laneId"
      ), probed as (
        update circuit c set probes = c.probes + p.failed::int, last_error = coalesce(p.error, c.last_error),
          probe_at = moment() + p.probe_in_ms * interval '1 millisecond'
        from unnest(${plainArray(probes.map((one) => one.workspaceId))}::uuid[], ${plainArray(probes.map((one) => one.laneId))}::bigint[],
          ${plainArray(probes.map((one) => one.failed))}::boolean[], ${plainArray(probes.map((one) => one.probeInMs))}::float8[],
          ${textArray(probes.map((one) => one.error))}::text[]) as p (workspace_id, lane_id, failed, probe_in_ms, error)
        where c.workspace_id = any(array[p.workspace_id]) and c.lane_id = p.lane_id
      )
      select (select count(*) from moved) as moved, (select coalesce(json_agg(opened), '[]') from opened) as opened, (
        select arrange_keys(array_agg(workspace_id), array_agg(lane_id), array_agg(concurrency_key)) from moved
        where concurrency_key is not null) as arranged`,
  )) ?? { moved: 0, opened: [] };
