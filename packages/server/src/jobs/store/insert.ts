import type { JobState } from "@tidemill/contract";
import {
  binaryTextArray,
  type Db,
  fragment,
  type JobId,
  plainArray,
  row,
  sql,
  type Timestamp,
  textArray,
  toMoment,
  toRfc3339,
} from "#kernel";
import { DELIVERING_PLANS, type LaneId, type LaneService } from "#lanes";
import { RECORD_EXECUTIONS } from "#usage";
import { distinctLanes, type LaneName } from "../distinct-lanes.ts";
import type { Idempotency, NewJob } from "../new-job.ts";
import { KEYED, KEYLESS } from "./batch-keys.ts";
import { COUNT_ENQUEUED, COUNT_ENQUEUED_BY_LANE } from "./counts.ts";
import { ASSIGN_SLOTS_OF_WAITING, CLAIMABLE } from "./fragments.ts";

/** The tick that a schedule creates a job for. */
interface Tick {
  /** The schedule's name. */
  readonly schedule: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

export interface JobToInsert extends NewJob {
  readonly id: JobId;
  /** Null for a job that no schedule created. */
  readonly tick: Tick | null;
  /** Whether the job may start eagerly on the node, if nothing in its lane waits. */
  readonly eager: boolean;
}

/** Jobs of one queue. Either all are stored or none. */
export interface InsertRequest extends LaneName {
  readonly jobs: readonly JobToInsert[];
  /** The idempotency key of the whole batch. Its jobs have none of their own. */
  readonly batch?: Idempotency;
}

/** A batch whose idempotency key is taken: nothing of it was inserted. */
export interface RepeatedBatch {
  readonly repeatedIn: LaneId;
}

export interface InsertedJob {
  readonly laneId: LaneId;
  readonly state: Extract<JobState, "waiting" | "delayed" | "pending_approval" | "active">;
  readonly attempts: number;
  readonly backoffDelayMs: number;
  readonly runAt: Timestamp;
  readonly createdAt: Timestamp;
  readonly revision: number;
  /** How its lane is served now: not at all while it is paused. */
  readonly served: LaneService;
}

interface InsertRow {
  at: Timestamp;
  lanes: string[];
  /** The first jobs of the batches that got their keys. */
  won: JobId[] | null;
  attempts: number[];
  backoffs: number[];
  revisions: number[];
  served: LaneService[];
  /** Whether a lane's jobs wait for approval. */
  holds: boolean[];
  active?: JobId[] | null;
  held?: JobId[] | null;
  held_until?: string[] | null;
  delayed?: JobId[] | null;
  delayed_until?: string[] | null;
}

/**
 * What the statement does in addition to the insert, depending on what its jobs may do. A condition that is constantly false costs nothing.
 * Returning what was inserted took a tenth of the statement's time, so it is left out where possible.
 */
const EFFECTS = {
  any: {
    mayStart: fragment`true`,
    mayBeDelayed: fragment`true`,
    returning: fragment`returning workspace_id, lane_id, id, state, run_at, concurrency_key`,
    counted: COUNT_ENQUEUED,
    reported: fragment`,
        (select array_agg(id) from moved where state = 'active') as active,
        (select array_agg(id) from moved where state = 'pending_approval') as held,
        (select array_agg(run_at::text) from moved where state = 'pending_approval') as held_until,
        (select array_agg(id) from moved where state = 'delayed') as delayed,
        (select array_agg(run_at::text) from moved where state = 'delayed') as delayed_until,
        ${ASSIGN_SLOTS_OF_WAITING} as assigned`,
  },
  /** Jobs wait, wait for approval (all jobs of a lane or none), or start eagerly. */
  start: {
    mayStart: fragment`true`,
    mayBeDelayed: fragment`false`,
    returning: fragment`returning id, state`,
    counted: COUNT_ENQUEUED_BY_LANE,
    reported: fragment`, (select array_agg(id) from moved where state = 'active') as active`,
  },
  /** Jobs wait, or wait for approval (all jobs of a lane or none). */
  wait: {
    mayStart: fragment`false`,
    mayBeDelayed: fragment`false`,
    returning: fragment``,
    counted: COUNT_ENQUEUED_BY_LANE,
    reported: fragment``,
  },
} as const;

function effectsOf(jobs: readonly JobToInsert[]): (typeof EFFECTS)[keyof typeof EFFECTS] {
  let eager = false;
  for (const job of jobs) {
    if (job.delaySeconds > 0 || job.runAtMs !== null || job.concurrencyKey !== null) return EFFECTS.any;
    eager ||= job.eager;
  }
  return eager ? EFFECTS.start : EFFECTS.wait;
}

/**
 * Inserts the jobs of many requests in one statement. Returns null for a request whose queue does not exist. What the jobs of a lane
 * share is looked up once per lane, and its rows read it by array subscript. Only jobs that do not simply wait are returned, if there may
 * be any. This takes 7 µs a job; with a join and a returned row per job it took 19.
 *
 * A job starts eagerly, inserted as claimed, only when no job of its lane is claimable, the circuit is closed, the lane has no
 * limits and the job has no concurrency key. Uses indexes lane_name and job_claimable.
 */
export const insertJobsAcrossWorkspaces = (
  db: Db,
  leaseId: number | null,
  requests: readonly InsertRequest[],
): Promise<(InsertedJob[] | null)[]> => insert(db, leaseId, requests, KEYLESS) as Promise<(InsertedJob[] | null)[]>;

/**
 * Like `insertJobsAcrossWorkspaces`, for batches with idempotency keys: inserts those that get their key. If another transaction is taking
 * the same key, the insert waits for its end. Also uses the primary key of batch_key.
 */
export const insertBatchesAcrossWorkspaces = (
  db: Db,
  leaseId: number | null,
  requests: readonly Required<InsertRequest>[],
): Promise<(InsertedJob[] | RepeatedBatch | null)[]> => insert(db, leaseId, requests, KEYED);

async function insert(
  db: Db,
  leaseId: number | null,
  requests: readonly InsertRequest[],
  keys: typeof KEYED,
): Promise<(InsertedJob[] | RepeatedBatch | null)[]> {
  const { distinct, laneOf } = distinctLanes(requests);
  const jobsOf = distinct.map(() => 0);
  const ticksOf = distinct.map(() => 0);
  for (const [index, request] of requests.entries()) {
    const lane = laneOf[index] ?? 0;
    const ticks = request.jobs.reduce((sum, { tick }) => sum + Number(tick !== null), 0);
    jobsOf[lane] = (jobsOf[lane] ?? 0) + request.jobs.length - ticks;
    ticksOf[lane] = (ticksOf[lane] ?? 0) + ticks;
  }
  const batches = keys.isKeyed ? requests.map((request, index) => ({ ...request, lane: (laneOf[index] ?? 0) + 1 })) : [];
  const jobs = requests.flatMap((request) => request.jobs);
  const { mayStart, mayBeDelayed, returning, counted, reported } = effectsOf(jobs);
  /** A column as an array literal. Null when all its values are `usual`: then neither node nor database spends time on it. */
  const unlessAll = <Value>(usual: Value, of: (job: JobToInsert) => Value, literal: (values: readonly Value[]) => string): string | null =>
    jobs.every((job) => of(job) === usual) ? null : literal(jobs.map(of));

  const inserted = await row<InsertRow>(
    db,
    sql`
      with named as (
        select array_agg(coalesce(l.id, 0) order by r.at) as id, array_agg(coalesce(l.attempts, 0) order by r.at) as attempts,
          array_agg(coalesce(l.backoff_delay_ms, 0) order by r.at) as backoff_delay_ms,
          array_agg(coalesce(l.revision, 0) order by r.at) as revision,
          array_agg(case when l.id is null or l.paused then 'none' else l.served::text end order by r.at) as served,
          array_agg(coalesce(q.type = 'approval', false) order by r.at) as holds, array_agg(q.approval_timeout order by r.at) as decide_seconds,
          array_agg(coalesce(${mayStart} and ${leaseId}::bigint is not null and l.served = 'push' and not l.paused
            and l.concurrency is null and l.rate_max is null
            and exists (select from workspace w where w.id = r.workspace_id and w.plan = any(${DELIVERING_PLANS}))
            and exists (select from lease where lease.id = ${leaseId} and lease.expires_at > now())
            and not exists (select from circuit c where c.workspace_id = r.workspace_id and c.lane_id = l.id)
            and not exists (select from job where job.workspace_id = r.workspace_id and job.lane_id = l.id and ${CLAIMABLE}),
            false) order by r.at) as open
        from unnest(${plainArray(distinct.map(({ workspaceId }) => workspaceId))}::uuid[], ${textArray(distinct.map(({ queue }) => queue))}::text[])
          with ordinality r (workspace_id, queue, at)
        left join lane l on l.workspace_id = r.workspace_id and l.kind = 'queue' and l.name = r.queue and l.deleted_at is null
        left join queue q on q.workspace_id = l.workspace_id and q.id = l.id
      ), batches as (
        select * from unnest(
          ${plainArray(batches.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(batches.map(({ lane }) => lane))}::int[],
          ${textArray(batches.map(({ batch }) => batch?.key ?? ""))}::text[],
          ${textArray(batches.map(({ jobs: own }) => plainArray(own.map(({ id }) => id))))}::text[],
          ${plainArray(batches.map(({ batch }) => batch?.fingerprint ?? ""))}::text[]
        ) as b (workspace_id, lane, key, job_ids, fingerprint)
      ), ${keys.claimed} moved as (
        insert into job (workspace_id, lane_id, id, state, priority, attempt, attempts, backoff_delay_ms, lease_id,
          run_at, created_at, started_at, decide_at, tag, concurrency_key, idempotency_key, payload, schedule, scheduled_for, traceparent, tracestate)
        select workspace_id, lane_id, id, state, priority, (state = 'active')::int, attempts, backoff_delay_ms,
          case when state = 'active' then ${leaseId}::bigint end, run_at, moment(), case when state = 'active' then moment() end,
          case when state = 'pending_approval' then moment() + decide_seconds * interval '1 second' end,
          tag, concurrency_key, idempotency_key, payload, schedule, scheduled_for, traceparent, tracestate
        from (
          select (${plainArray(distinct.map(({ workspaceId }) => workspaceId))}::uuid[])[n.lane] as workspace_id, named.id[n.lane] as lane_id, n.id,
            (case
              when named.holds[n.lane] then 'pending_approval'
              when ${mayBeDelayed} and coalesce(n.run_at, moment() + n.delay_seconds * interval '1 second') > moment() then 'delayed'
              when ${mayStart} and n.eager and n.concurrency_key is null and named.open[n.lane] then 'active'
              else 'waiting' end)::job_state as state,
            coalesce(n.priority, 0) as priority, coalesce(n.attempts, named.attempts[n.lane]) as attempts,
            coalesce(n.backoff_delay_ms, named.backoff_delay_ms[n.lane]) as backoff_delay_ms,
            coalesce(n.run_at, moment() + n.delay_seconds * interval '1 second', moment()) as run_at,
            named.decide_seconds[n.lane] as decide_seconds,
            n.tag, n.concurrency_key, n.idempotency_key, n.payload, n.schedule, n.scheduled_for, n.traceparent, n.tracestate
          from named cross join unnest(
            ${plainArray(requests.flatMap((request, index) => request.jobs.map(() => (laneOf[index] ?? 0) + 1)))}::int[],
            ${plainArray(jobs.map(({ id }) => id))}::uuid[], ${binaryTextArray(jobs.map(({ payload }) => payload))}::text[],
            ${unlessAll(null, ({ delaySeconds }) => delaySeconds || null, plainArray)}::int[],
            ${unlessAll(null, ({ runAtMs }) => (runAtMs === null ? null : toMoment(runAtMs)), textArray)}::timestamptz[],
            ${unlessAll(null, ({ tag }) => tag, textArray)}::text[],
            ${unlessAll(0, ({ priority }) => priority, plainArray)}::smallint[],
            ${unlessAll(null, ({ concurrencyKey }) => concurrencyKey, textArray)}::text[],
            ${unlessAll(null, ({ idempotency }) => idempotency?.key ?? null, textArray)}::text[],
            ${unlessAll(null, ({ attempts }) => attempts, plainArray)}::int[],
            ${unlessAll(null, ({ backoffDelayMs }) => backoffDelayMs, plainArray)}::int[],
            ${unlessAll(false, ({ eager }) => eager, plainArray)}::boolean[],
            ${unlessAll(null, ({ tick }) => tick?.schedule ?? null, textArray)}::text[],
            ${unlessAll(null, ({ tick }) => tick && toMoment(tick.atMs), textArray)}::timestamptz[],
            ${unlessAll(null, ({ trace }) => trace?.traceparent ?? null, textArray)}::text[],
            ${unlessAll(null, ({ trace }) => trace?.tracestate ?? null, textArray)}::text[]
          ) as n (lane, id, payload, delay_seconds, run_at, tag, priority, concurrency_key, idempotency_key, attempts, backoff_delay_ms,
            eager, schedule, scheduled_for, traceparent, tracestate)
          where named.id[n.lane] > 0 ${keys.mayInsert}
          offset 0
        ) ready
        ${returning}
      ), accepted as (
        select workspace_id, named.id[at] as lane_id, ${keys.accepted} as jobs, ticks as schedules, named.holds[at] as holds
        from named cross join unnest(${plainArray(distinct.map(({ workspaceId }) => workspaceId))}::uuid[], ${plainArray(jobsOf)}::int[],
          ${plainArray(ticksOf)}::int[]) with ordinality n (workspace_id, jobs, ticks, at)
        where named.id[at] > 0
      ), used as (
        ${RECORD_EXECUTIONS}
      ), tallied as (
        ${counted}
      )
      select moment() as at, ${keys.won} as won, named.id as lanes, named.attempts, named.backoff_delay_ms as backoffs, named.revision as revisions,
        named.served, named.holds${reported}
      from named`,
  );
  if (!inserted) throw new Error("The insert returned no row.");
  const states = statesOf(inserted);
  const won = new Set(inserted.won);
  return requests.map(({ jobs: own }, index) => {
    const lane = laneOf[index] ?? 0;
    const laneId = Number(inserted.lanes[lane]) as LaneId;
    if (laneId === 0) return null;
    if (keys.isKeyed && own[0] && !won.has(own[0].id)) return { repeatedIn: laneId };
    return own.map(({ id, attempts, backoffDelayMs, runAtMs }) => ({
      laneId,
      state: inserted.holds[lane] ? "pending_approval" : "waiting",
      attempts: attempts ?? inserted.attempts[lane] ?? 0,
      backoffDelayMs: backoffDelayMs ?? inserted.backoffs[lane] ?? 0,
      runAt: runAtMs === null ? inserted.at : toMoment(runAtMs),
      createdAt: inserted.at,
      revision: inserted.revisions[lane] ?? 0,
      served: inserted.served[lane] ?? "none",
      ...states.get(id),
    }));
  });
}

/** The jobs that do not simply wait. */
function statesOf({
  active,
  held,
  held_until,
  delayed,
  delayed_until,
}: InsertRow): Map<JobId, Pick<InsertedJob, "state"> & { runAt?: Timestamp }> {
  const states = new Map<JobId, Pick<InsertedJob, "state"> & { runAt?: Timestamp }>();
  for (const id of active ?? []) states.set(id, { state: "active" });
  for (const [index, id] of (held ?? []).entries())
    states.set(id, { state: "pending_approval", runAt: toRfc3339(held_until?.[index] ?? "") });
  for (const [index, id] of (delayed ?? []).entries()) states.set(id, { state: "delayed", runAt: toRfc3339(delayed_until?.[index] ?? "") });
  return states;
}
