import { CLAIMABLE, COUNT_ADDED, COUNT_ADDED_ALONE, INSERT_RUN_JOBS } from "#jobs";
import {
  binaryTextArray,
  type Db,
  fragment,
  MAX_WHOLE_CHARACTERS,
  plainArray,
  type RunId,
  row,
  rows,
  sql,
  type Timestamp,
  textArray,
  toMoment,
} from "#kernel";
import type { LaneId } from "#lanes";
import { RECORD_RUNS } from "#usage";
import { COUNT_STARTED_RUN_ALONE, COUNT_STARTED_RUNS } from "../runs/run-counts.ts";
import { TRIGGERED_BY_API, type TriggerOfRun } from "./trigger.ts";
import type { RunHolder } from "./waiting-workers.ts";

/** A trigger, with the worker that is to hold its run if nothing in its lane comes before it. */
export interface TriggerToStore extends TriggerOfRun {
  readonly holder: RunHolder | null;
}

/** The outcome of a trigger whose workflow exists. */
export interface StoredTrigger {
  readonly laneId: LaneId;
  /**
   * The run of the trigger, or an earlier run with its key. Null: another trigger was taking the key at the same time, and nothing was
   * started.
   */
  readonly runId: RunId | null;
  /** Whether the run was started eagerly for its holder. */
  readonly isHeld: boolean;
  readonly attempts: number;
  readonly backoffDelayMs: number;
  /** Revision of the lane. */
  readonly revision: number;
  readonly createdAt: Timestamp;
  /** Until when the holder holds it. */
  readonly leaseUntil: Timestamp | null;
}

/** Whether nothing in lane `l` comes before the run of trigger `t`, so that it may start eagerly. */
const COMES_FIRST = fragment`l.id = t.held_lane and l.served = 'pull' and not l.paused and l.concurrency is null and l.rate_max is null
  and not exists (select from circuit c where c.workspace_id = t.workspace_id and c.lane_id = l.id offset 0)
  and not exists (select from job where job.workspace_id = t.workspace_id and job.lane_id = l.id and ${CLAIMABLE} offset 0)`;

/**
 * Starts the runs of triggers in one statement, without their quotas. Returns null for a workflow that does not exist. A run is started
 * eagerly, and has begun, only when no job of its lane is claimable, the circuit is closed and the lane has no limits. The insert of a key
 * waits for another transaction that is taking it. All transactions take keys in the same order. Uses indexes lane_name and job_claimable,
 * and the primary keys.
 *
 * @param nodeLeaseId the lease of the node: without it, no run is started eagerly
 */
export async function storeTriggersAcrossWorkspaces(
  db: Db,
  nodeLeaseId: number | null,
  triggers: readonly TriggerToStore[],
): Promise<(StoredTrigger | null)[]> {
  const [only] = triggers;
  if (only && triggers.length === 1 && only.input.length <= MAX_WHOLE_CHARACTERS) return [await storeTrigger(db, nodeLeaseId, only)];
  const inputs = new Map([...new Set(triggers.map(({ input }) => input))].map((input, index) => [input, index + 1]));
  const column = <Value>(of: (trigger: TriggerToStore) => Value) => triggers.map(of);
  const stored = await rows<{ [Field in keyof StoredTrigger]: StoredTrigger[Field] | null }>(
    db,
    sql`
      with asked as (
        select t.*, l.id as lane_id, l.attempts, l.backoff_delay_ms, l.revision,
          case when t.run_at > moment() then 'delayed'
            when t.lease_id is not null and exists (select from lease where lease.id = ${nodeLeaseId}::bigint and lease.expires_at > now()) and ${COMES_FIRST}
            then 'active' else 'waiting' end::job_state as state
        from unnest(${plainArray(column((one) => one.workspaceId))}::uuid[], ${plainArray(column((one) => one.id))}::uuid[],
          ${textArray(column((one) => one.workflow))}::text[], ${textArray(column((one) => one.idempotencyKey))}::text[],
          ${plainArray(column(({ input }) => inputs.get(input) ?? 1))}::int[],
          ${textArray(column(({ dueMs }) => (dueMs === null ? null : toMoment(dueMs))))}::timestamptz[],
          ${plainArray(column(({ holder }) => holder?.laneId ?? null))}::bigint[], ${plainArray(column(({ holder }) => holder?.leaseId ?? null))}::bigint[],
          ${plainArray(column(({ holder }) => holder?.leaseSeconds ?? null))}::int[], ${textArray(column(({ holder }) => holder?.request ?? null))}::text[],
          ${textArray(column(({ holder }) => holder?.version ?? null))}::text[])
          with ordinality t (workspace_id, id, workflow, key, input, run_at, held_lane, lease_id, lease_seconds, request, version, number)
        left join lane l on l.workspace_id = any(array[t.workspace_id]) and l.kind = 'workflow' and l.name = t.workflow and l.deleted_at is null
      ), taken as (
        insert into run_key (workspace_id, lane_id, key, run_id)
        select workspace_id, lane_id, key, id from asked where lane_id is not null and key is not null order by workspace_id, lane_id, key, number
        on conflict do nothing returning run_id
      ), ready as (
        select *, state = 'active' as is_held, '{}' as payload
        from asked where lane_id is not null and (key is null or id in (select run_id from taken))
      ), started as (
        insert into run (workspace_id, lane_id, id, status, version, attempts, input, trigger, idempotency_key, created_at, started_at, last_execution,
          open_lease_id, count_mark)
        select workspace_id, lane_id, id, case when is_held then 'running' else 'pending' end::run_status, case when is_held then version end, attempts,
          (${binaryTextArray([...inputs.keys()])}::text[])[input], ${TRIGGERED_BY_API}::text, key, moment(), case when is_held then moment() end, case when is_held then 1 end,
          case when is_held then lease_id end, true
        from ready
        returning workspace_id, lane_id, status
      ), counted as (
        ${COUNT_STARTED_RUNS}
      ), used as (
        ${RECORD_RUNS}
      ), moved as (
        ${INSERT_RUN_JOBS}
      ), tallied as (
        ${COUNT_ADDED}
      )
      select a.lane_id as "laneId", a.attempts, a.backoff_delay_ms as "backoffDelayMs", a.revision, coalesce(r.id, k.run_id) as "runId",
        coalesce(r.is_held, false) as "isHeld", moment() as "createdAt", moment() + a.lease_seconds * interval '1 second' as "leaseUntil"
      from asked a
      left join ready r on r.number = a.number
      left join lateral (
        select k.run_id from run_key k where k.workspace_id = any(array[a.workspace_id]) and k.lane_id = a.lane_id and k.key = a.key offset 0
      ) k on true
      order by a.number`,
  );
  return stored.map((one) => (one.laneId === null ? null : (one as StoredTrigger)));
}

/** The same for one trigger, whose input is sent whole. Without arrays, PostgreSQL takes a fifth less time. */
async function storeTrigger(db: Db, nodeLeaseId: number | null, trigger: TriggerToStore): Promise<StoredTrigger | null> {
  const { workspaceId, id, workflow, input, idempotencyKey, dueMs, holder } = trigger;
  const { laneId = null, leaseId = null, leaseSeconds = null, request = null, version = null } = holder ?? {};
  return row<StoredTrigger>(
    db,
    sql`
      with asked as (
        select t.*, l.id as lane_id, l.attempts, l.backoff_delay_ms, l.revision,
          case when t.run_at > moment() then 'delayed'
            when t.lease_id is not null and exists (select from lease where lease.id = ${nodeLeaseId}::bigint and lease.expires_at > now()) and ${COMES_FIRST}
            then 'active' else 'waiting' end::job_state as state
        from (
          select ${workspaceId}::uuid as workspace_id, ${id}::uuid as id, ${workflow}::text as workflow, ${idempotencyKey}::text as key,
            ${dueMs === null ? null : toMoment(dueMs)}::timestamptz as run_at, ${laneId}::bigint as held_lane, ${leaseId}::bigint as lease_id,
            ${leaseSeconds}::int as lease_seconds, ${request}::text as request, ${version}::text as version
        ) t
        join lane l on l.workspace_id = t.workspace_id and l.kind = 'workflow' and l.name = t.workflow and l.deleted_at is null
      ), taken as (
        insert into run_key (workspace_id, lane_id, key, run_id)
        select workspace_id, lane_id, key, id from asked where key is not null
        on conflict do nothing returning run_id
      ), ready as (
        select *, state = 'active' as is_held, '{}' as payload from asked where key is null or exists (select from taken)
      ), started as (
        insert into run (workspace_id, lane_id, id, status, version, attempts, input, trigger, idempotency_key, created_at, started_at, last_execution,
          open_lease_id, count_mark)
        select workspace_id, lane_id, id, case when is_held then 'running' else 'pending' end::run_status, case when is_held then version end, attempts,
          ${input}::text, ${TRIGGERED_BY_API}::text, key, moment(), case when is_held then moment() end, case when is_held then 1 end,
          case when is_held then lease_id end, true
        from ready
        returning workspace_id, lane_id, status
      ), counted as (
        ${COUNT_STARTED_RUN_ALONE}
      ), used as (
        ${RECORD_RUNS}
      ), moved as (
        ${INSERT_RUN_JOBS}
      ), tallied as (
        ${COUNT_ADDED_ALONE}
      )
      select a.lane_id as "laneId", a.attempts, a.backoff_delay_ms as "backoffDelayMs", a.revision,
        coalesce(r.id, (select k.run_id from run_key k where k.workspace_id = a.workspace_id and k.lane_id = a.lane_id and k.key = a.key)) as "runId",
        coalesce(r.is_held, false) as "isHeld", moment() as "createdAt", moment() + a.lease_seconds * interval '1 second' as "leaseUntil"
      from asked a left join ready r on true`,
  );
}
