import type { AttemptError, JobState } from "@tidemill/contract";
import { OPEN_CIRCUITS, type Opening, RECORD_OPENED, RECORD_SPENT_PROBES, type SpentProbe } from "#circuits";
import { binaryTextArray, type Db, fragment, type JobId, plainArray, row, rows, sql, textArray } from "#kernel";
import type { LaneKey } from "#lanes";
import { RECORD_FAILED_ATTEMPTS, RECORD_SUCCEEDED_ATTEMPTS } from "#usage";
import type { JobKey } from "../job.ts";
import { ANNOUNCE_COMPLETED, ANNOUNCE_FAILED, EVENT_IF_FAILED } from "./announce.ts";
import { claimColumns, keyColumns } from "./columns.ts";
import { COMPLETED_BY_LANE, COUNT_COMPLETED, COUNT_DEAD_LETTERS, COUNT_DISCARDED, COUNT_NOT_COMPLETED } from "./counts.ts";
import { ARCHIVE_GONE, ASSIGN_SLOTS_OF_GONE, ASSIGN_SLOTS_OF_MOVED, CLAIMABLE } from "./fragments.ts";

/**
 * Identifies a claim, with the log entry of its attempt. Statements compare `lease_id` by `is not distinct from`, which cannot use an
 * index. With `=`, the planner could read all claims of the lease (job_active) for every row that it settles.
 */
interface Settled extends JobKey {
  readonly leaseId: number;
  readonly attempt: number;
  readonly logEntry: string;
}

/** Locks the rows of jobs, for a transaction that settles them by several statements (docs/sql.md, the lock order). Uses the primary key. */
export function lockJobsAcrossWorkspaces(tx: Db, jobs: readonly JobKey[]): Promise<unknown> {
  const { workspaceIds, laneIds, ids } = keyColumns(jobs);
  return rows(
    tx,
    sql`
      select from (
        select * from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[]) as u (workspace_id, lane_id, id)
        order by workspace_id, lane_id, id
      ) s,
      lateral (
        select from job j
        where j.workspace_id = any(array[s.workspace_id]) and j.lane_id = s.lane_id and j.id = s.id for update
      ) locked`,
  );
}

/** The result of a settle: how many claims were still valid and, if `withIds`, the ids of their jobs. */
export interface Moved {
  readonly moved: number;
  readonly ids: readonly JobId[] | null;
}

/** Moves completed jobs to history. A claim that is no longer valid changes nothing. Uses the primary key. */
export const completeAcrossWorkspaces = async (
  db: Db,
  settled: readonly (Settled & { result: string | null })[],
  withIds = false,
): Promise<Moved> => {
  const { workspaceIds, laneIds, ids, leaseIds, attempts } = claimColumns(settled);
  const done = await row<Moved>(
    db,
    sql`
      with gone as (
        delete from job j
        using unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[], ${leaseIds}::bigint[], ${attempts}::int[],
          ${binaryTextArray(settled.map((one) => one.result))}::text[], ${binaryTextArray(settled.map((one) => one.logEntry))}::text[])
          as s (workspace_id, lane_id, id, lease_id, attempt, result, log_entry)
        where j.workspace_id = any(array[s.workspace_id]) and j.lane_id = s.lane_id and j.id = s.id
          and j.lease_id is not distinct from s.lease_id and j.attempt = s.attempt
        returning j.*, 'completed'::job_state as final_state, concat_ws(',', nullif(j.attempts_log, ''), s.log_entry) as final_log,
          j.approval as final_approval, s.result
      ), archived as (
        ${ARCHIVE_GONE}
      ), counted as (
        ${COMPLETED_BY_LANE}
      ), tallied as (
        ${COUNT_COMPLETED}
      ), used as (
        ${RECORD_SUCCEEDED_ATTEMPTS}
      )
      select count(*) as moved, case when ${withIds} and count(*) < ${settled.length}::int then array_agg(id) end as ids, ${ANNOUNCE_COMPLETED} as announced, ${ASSIGN_SLOTS_OF_GONE} as assigned
      from gone`,
  );
  const { moved, ids: movedIds } = done ?? { moved: 0, ids: null };
  // Almost always all claims are valid. Then the ids are not sent back.
  const all = () => (moved === settled.length ? settled.map(({ id }) => id) : []);
  return { moved, ids: withIds ? (movedIds ?? all()) : null };
};

/** Deletes jobs of kinds that leave no record, neither history nor counts. Returns which claims were still valid. Uses the primary key. */
export const discardAcrossWorkspaces = async (db: Db, settled: readonly Omit<Settled, "logEntry">[]): Promise<Moved> => {
  const { workspaceIds, laneIds, ids, leaseIds, attempts } = claimColumns(settled);
  const discarded = await row<Moved>(
    db,
    sql`
      with gone as (
        delete from job j
        using unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[], ${leaseIds}::bigint[], ${attempts}::int[])
          as s (workspace_id, lane_id, id, lease_id, attempt)
        where j.workspace_id = any(array[s.workspace_id]) and j.lane_id = s.lane_id and j.id = s.id
          and j.lease_id is not distinct from s.lease_id and j.attempt = s.attempt
        returning j.workspace_id, j.lane_id, j.id, j.concurrency_key
      ), tallied as (
        ${COUNT_DISCARDED}
      )
      select count(*) as moved, array_agg(id) as ids, ${ASSIGN_SLOTS_OF_GONE} as assigned from gone`,
  );
  return discarded ?? { moved: 0, ids: null };
};

/** Deletes the jobs of CTE `ready`, which the statement has locked and whose kind leaves no record. It returns what CTE `gone` has (counts.ts). */
export const DISCARD_READY = fragment`
  delete from job j using ready s
  where j.workspace_id = any(array[s.workspace_id]) and j.lane_id = s.lane_id and j.id = s.id
  returning j.workspace_id, j.lane_id`;

/** The same for one job. */
export const DISCARD_READY_ALONE = fragment`
  delete from job j
  where j.workspace_id = (select workspace_id from ready) and j.lane_id = (select lane_id from ready) and j.id = (select id from ready)
  returning j.workspace_id, j.lane_id`;

/** A job that did not complete, and where it goes. */
export interface NotCompleted extends Settled {
  readonly to: Extract<JobState, "waiting" | "delayed" | "failed">;
  readonly waitMs: number;
  /** How long the job waits if no other job of the lane waits. Null: the same as `waitMs`. */
  readonly aloneWaitMs: number | null;
  /** `last_error` as JSON text. Null: unchanged. */
  readonly error: string | null;
  readonly errorCode: AttemptError | null;
  /** Whether attempts of the job's kind are counted. */
  readonly recorded: boolean;
  /** Whether the attempt is spared. Null: only if the lane's circuit is open; the job then returns to `waiting`. */
  readonly spared: boolean | null;
}

/**
 * Moves jobs back to `waiting` or `delayed`, or to the dead-letter queue, and opens or updates their circuits. Returns how many claims were
 * still valid, and which circuits opened. Uses the primary key.
 */
export const settleNotCompletedAcrossWorkspaces = async (
  db: Db,
  settled: readonly NotCompleted[],
  openings: readonly Opening[] = [],
  probes: readonly SpentProbe[] = [],
  withIds = false,
): Promise<Moved & { readonly opened: readonly LaneKey[] }> => {
  const { workspaceIds, laneIds, ids, leaseIds, attempts } = claimColumns(settled);
  const { failures, places } = distinctFailures(settled);
  const refused = await row<Moved & { readonly opened: readonly LaneKey[] }>(
    db,
    sql`
      with failing as materialized (
        select array_agg(fingerprint_of(f.workspace_id, f.lane_id, f.error) order by f.place) as fingerprints
        from unnest(${plainArray(failures.map((one) => one.workspaceId))}::uuid[], ${plainArray(failures.map((one) => one.laneId))}::bigint[],
          ${textArray(failures.map((one) => one.error))}::text[]) with ordinality f (workspace_id, lane_id, error, place)
      ), moved as (
        update job j set state = s.state, lease_id = null, lease_until = null, lease_request = null, key_slot = null, node_losses = 0, last_error = coalesce(s.error, last_error),
          error_code = coalesce(s.error_code, j.error_code), spared = j.spared + s.spared::int,
          run_at = case when s.state = 'delayed' then moment() + s.wait_ms * interval '1 millisecond' else run_at end,
          finished_at = case when s.state = 'failed' then moment() end,
          fingerprint = case when s.state = 'failed'
            then coalesce((select fingerprints from failing)[s.failure], fingerprint_of(j.workspace_id, j.lane_id, j.last_error)) else j.fingerprint end,
          attempts_log = add_attempt(attempts_log, s.log_entry)
        from (
          select u.workspace_id, u.lane_id, u.id, u.lease_id, u.attempt, u.error, u.error_code, u.log_entry, u.recorded, u.failure,
            case when u.alone_wait_ms is not null and not exists (
              select from job where job.workspace_id = u.workspace_id and job.lane_id = u.lane_id and ${CLAIMABLE})
            then u.alone_wait_ms else u.wait_ms end as wait_ms,
            coalesce(u.spared, held) as spared, case when held then 'waiting' else u.state end as state
          from unnest(${workspaceIds}::uuid[], ${laneIds}::bigint[], ${ids}::uuid[], ${leaseIds}::bigint[], ${attempts}::int[],
            ${textArray(settled.map((one) => one.to))}::job_state[], ${plainArray(settled.map((one) => one.waitMs))}::float8[],
            ${plainArray(settled.map((one) => one.aloneWaitMs))}::float8[],
            ${textArray(settled.map((one) => one.error))}::text[], ${textArray(settled.map((one) => one.errorCode))}::text[],
            ${binaryTextArray(settled.map((one) => one.logEntry))}::text[], ${plainArray(settled.map((one) => one.spared))}::boolean[],
            ${plainArray(settled.map((one) => one.recorded))}::boolean[], ${plainArray(places)}::int[])
            as u (workspace_id, lane_id, id, lease_id, attempt, state, wait_ms, alone_wait_ms, error, error_code, log_entry, spared, recorded, failure)
          cross join lateral (
            select u.spared is null and exists (select from circuit)
              and exists (select from circuit c where c.workspace_id = u.workspace_id and c.lane_id = u.lane_id) as held
            offset 0
          ) h
        ) s
        where j.workspace_id = any(array[s.workspace_id]) and j.lane_id = s.lane_id and j.id = s.id
          and j.lease_id is not distinct from s.lease_id and j.attempt = s.attempt
        returning j.workspace_id, j.lane_id, j.id, j.state, j.concurrency_key, j.fingerprint, j.last_error, s.spared, s.recorded, ${EVENT_IF_FAILED}
      ), tallied as (
        ${COUNT_NOT_COMPLETED}
      ), used as (
        ${RECORD_FAILED_ATTEMPTS}
      ), opening as (
        select * from unnest(${plainArray(openings.map((one) => one.workspaceId))}::uuid[], ${plainArray(openings.map((one) => one.laneId))}::bigint[],
          ${plainArray(openings.map((one) => one.revision))}::int[], ${plainArray(openings.map((one) => one.probeInMs))}::float8[],
          ${textArray(openings.map((one) => one.error))}::text[]) as o (workspace_id, lane_id, revision, probe_in_ms, error)
      ), opened as (
        ${OPEN_CIRCUITS}
      ), opened_at as (
        ${RECORD_OPENED}
      ), spent_probe as (
        select * from unnest(${plainArray(probes.map((one) => one.workspaceId))}::uuid[], ${plainArray(probes.map((one) => one.laneId))}::bigint[],
          ${plainArray(probes.map((one) => one.failed))}::boolean[], ${plainArray(probes.map((one) => one.probeInMs))}::float8[],
          ${textArray(probes.map((one) => one.error))}::text[]) as p (workspace_id, lane_id, failed, probe_in_ms, error)
      ), probed as (
        ${RECORD_SPENT_PROBES}
      )
      select (select count(*) from moved) as moved, case when ${withIds} then (select array_agg(id) from moved) end as ids,
        (select coalesce(json_agg(opened), '[]') from opened) as opened, ${ANNOUNCE_FAILED} as announced,
        ${COUNT_DEAD_LETTERS} as counted, ${ASSIGN_SLOTS_OF_MOVED} as assigned`,
  );
  return refused ?? { moved: 0, ids: null, opened: [] };
};

/** Jobs that fail together usually fail in the same way. One fingerprint is computed for each way. */
function distinctFailures(settled: readonly NotCompleted[]): { failures: readonly NotCompleted[]; places: readonly (number | null)[] } {
  const failures: NotCompleted[] = [];
  const known = new Map<string, number>();
  const places = settled.map((one) => {
    if (one.to !== "failed" || one.error === null) return null;
    const name = `${one.workspaceId}/${one.laneId}/${one.error}`;
    const place = known.get(name) ?? failures.push(one);
    known.set(name, place);
    return place;
  });
  return { failures, places };
}
