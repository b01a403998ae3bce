import type { JobShare, JobState, Plan } from "@tidemill/contract";
import { ENDED_LEASE, type JobKey } from "#jobs";
import { type Db, type JobId, row, sql, type Timestamp } from "#kernel";
import type { Queue } from "#queues";
import { WORKER_GONE_SECONDS, WORKER_HOLDS_A_JOB } from "#workers";

/** Jobs ahead are counted up to this number, unless a limit of the queue needs a higher count. */
const MAX_COUNTED = 10_000;
/** The maximum number of changes of queues that are read to find out when one was paused. */
const MAX_CHANGES = 1_000;

/** A job with everything that decides whether it starts, read in one snapshot. */
export interface JobSnapshot {
  readonly now: Timestamp;
  readonly id: JobId;
  readonly state: JobState;
  /** Attempts started so far and allowed. Both count the spared ones, too. */
  readonly attempt: number;
  readonly attempts: number;
  /** Attempts that do not count against the allowed ones. */
  readonly spared: number;
  /** How many nodes in a row were lost while they held it. */
  readonly node_losses: number | null;
  /** Why its newest unsuccessful attempt did not succeed, JSON. */
  readonly job_error: string | null;
  readonly created_at: Timestamp;
  readonly run_at: Timestamp;
  readonly run_at_is_ahead: boolean;
  readonly started_at: Timestamp | null;
  readonly finished_at: Timestamp | null;
  readonly concurrency_key: string | null;
  readonly key_slot: number | null;
  /** The decision on it, JSON. */
  readonly approval: string | null;
  readonly decide_at: Timestamp | null;
  /** Nodes with a valid lease, and when any node last renewed its own, if that is known. */
  readonly nodes_alive: number;
  readonly node_seen_at: Timestamp | null;
  /** The worker whose claim it is. Null: a node's, or it is not active. */
  readonly worker: string | null;
  /** Whether it is active and the lease of its claim has ended, and when that did or does, if that is known. */
  readonly claim_ended: boolean;
  readonly claim_ends_at: Timestamp | null;
  /** What its lane belongs to. */
  readonly kind: "queue" | "workflow";
  /** Those of a queue; a workflow has no approvals. */
  readonly type: Queue["type"] | null;
  readonly approval_timeout: number | null;
  readonly on_timeout: Queue["on_timeout"] | null;
  readonly concurrency_per_key: number;
  /** The columns of lane_gate. */
  readonly plan: Plan;
  readonly paused: boolean;
  /** When the queue was paused and by whom, if the audit log still says so. */
  readonly paused_at: Timestamp | null;
  readonly paused_by: string | null;
  readonly has_callback_url: boolean;
  /** When a worker that polls the lane last called, accurate to half a minute. */
  readonly worker_seen_at: Timestamp | null;
  /** Whether no worker polls the lane any more. A worker that holds a job is busy, however long ago it called. */
  readonly no_worker_asks: boolean;
  /** Whether all workers that poll the lane hold jobs. */
  readonly all_workers_busy: boolean;
  readonly concurrency: number | null;
  readonly in_flight: number | null;
  readonly slots_free: number | null;
  readonly rate_max: number | null;
  readonly rate_seconds: number | null;
  readonly started: number | null;
  readonly starts_free: number | null;
  readonly starts_at: Timestamp | null;
  /** When starts stop counting against the rate limit, in milliseconds since 1970, and how many at each time; soonest first. */
  readonly expiries: readonly (readonly [ms: number, starts: number])[];
  /** The circuit, while it is open. */
  readonly opened_at: Timestamp | null;
  readonly probe_at: Timestamp | null;
  readonly probe_is_due: boolean;
  readonly last_error: string | null;
  /** Claimable jobs of the lane before this one; 0 for a job that does not wait. */
  readonly ahead: number;
  readonly ahead_is_more: boolean;
  /** Jobs with its concurrency key: active ones, and those that wait before it. */
  readonly key_active: number;
  readonly key_ahead: number;
  readonly key_ahead_is_more: boolean;
  /** The job that has been active longest: of its key, and of a lane with a limit. */
  readonly oldest_of_key: JobId | null;
  readonly oldest_of_key_at: Timestamp | null;
  readonly oldest_of_lane: JobId | null;
  readonly oldest_of_lane_at: Timestamp | null;
  /** Jobs of the lane that finished in the last minute, how much of that minute it has existed, and those that are active now. */
  readonly finished_last_minute: number;
  readonly measured_seconds: number;
  readonly lane_active: number;
}

/** A job with everything that may hold it, on the node that explains it. */
export interface ExplainedJob extends JobSnapshot {
  /** The resources of which the workspace uses its whole share on this node. Null: no node explains it. */
  readonly shares_used_up: readonly JobShare[] | null;
}

/**
 * Reads a job of a queue, or the next execution of a run, with the gates of its lane, as a claim would find them now. Jobs before it are
 * counted in claim order, by the index that claims use, up to `MAX_COUNTED` or what the limits need. The `order by` makes a planner without
 * statistics choose that index. Nodes belong to no workspace: on a connection of one, only the schema's name leads to their leases. Uses
 * indexes job_claimable, job_key, job_active, tally_lane, lease_worker, lease_node, audit_event_type and the primary keys.
 */
export const findExplained = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<JobSnapshot | null> =>
  row(
    db,
    sql`
      with requested as (
        select r.id, r.state, r.priority, r.attempt, r.attempts + r.spared as attempts, r.run_at, r.run_at > moment() as run_at_is_ahead,
          r.spared, r.last_error as job_error, r.created_at, r.started_at, r.finished_at, r.concurrency_key, lane_key(r.lane_id, r.concurrency_key) as lane_key, r.approval, live.key_slot, live.decide_at,
          live.node_losses, case when r.state = 'active' then live.lease_id end as lease_id, live.lease_until,
          r.state in ('waiting', 'delayed', 'pending_approval') as waits,
          -- An approval would put it in line after the jobs that are due now.
          case when r.state = 'pending_approval' then greatest(r.run_at, moment()) else r.run_at end as in_line_at
        from job_record r
        left join job live on live.workspace_id = ${workspaceId} and live.lane_id = ${laneId} and live.id = r.id
        where r.workspace_id = ${workspaceId} and r.lane_id = ${laneId} and r.id = ${id}
      )
      select moment() as now, requested.*, l.kind, q.approval_timeout, q.on_timeout, q.type, l.concurrency_per_key, g.*,
        asked.seen_at as worker_seen_at, asked.workers = 0 as no_worker_asks, asked.workers > 0 and asked.busy = asked.workers as all_workers_busy,
        nodes.nodes_alive, nodes.node_seen_at, claim.worker, pause.paused_at, pause.paused_by,
        claim.id is not null and coalesce(requested.lease_until <= moment(), claim.expires_at <= now()) as claim_ended,
        -- A node has found that it ended, and not when.
        nullif(coalesce(requested.lease_until, claim.expires_at), ${ENDED_LEASE}) as claim_ends_at,
        c.opened_at, c.probe_at, coalesce(c.probe_at <= moment(), false) as probe_is_due, c.last_error,
        least(line.counted, line.max_counted) as ahead, line.counted > line.max_counted as ahead_is_more,
        in_flight.lane_active, in_flight.key_active, oldest_of_key.id as oldest_of_key, oldest_of_key.started_at as oldest_of_key_at,
        oldest_of_lane.id as oldest_of_lane, oldest_of_lane.started_at as oldest_of_lane_at, least(of_key.counted, ${MAX_COUNTED}::int) as key_ahead, of_key.counted > ${MAX_COUNTED}::int as key_ahead_is_more,
        (select coalesce(sum(t.completed + t.failed), 0) from tally_now t
          where t.workspace_id = ${workspaceId} and t.lane_id = ${laneId} and t.at > moment() - interval '1 minute') as finished_last_minute,
        greatest(1, least(60, extract(epoch from moment() - coalesce(q.created_at, w.created_at))))::float8 as measured_seconds,
        coalesce((
          select json_agg(json_build_array(extract(epoch from e.at + g.rate_seconds * interval '1 second') * 1000, e.jobs) order by e.at)
          from lane_starts s cross join unnest(s.at, s.jobs) as e (at, jobs)
          where s.workspace_id = ${workspaceId} and s.lane_id = ${laneId} and e.at + g.rate_seconds * interval '1 second' >= g.starts_at
        ), '[]') as expiries
      from requested
      join lane l on l.workspace_id = ${workspaceId} and l.id = ${laneId}
      left join queue q on q.workspace_id = ${workspaceId} and q.id = ${laneId}
      left join workflow w on w.workspace_id = ${workspaceId} and w.id = ${laneId}
      cross join lateral (
        select plan, paused, served = 'push' as has_callback_url, concurrency, in_flight, slots_free, rate_max, rate_seconds, started, starts_free, starts_at
        from lane_gate where workspace_id = ${workspaceId} and lane_id = ${laneId} offset 0
      ) g
      cross join lateral (
        select max(w.last_seen_at) as seen_at, count(*) filter (where holds.a_job) as busy,
          count(*) filter (where holds.a_job or w.last_seen_at >= moment() - ${WORKER_GONE_SECONDS} * interval '1 second') as workers
        from lease held join worker w on w.lease_id = held.id
        cross join lateral (
          select ${WORKER_HOLDS_A_JOB} as a_job
        ) holds
        where held.workspace_id = ${workspaceId} and not g.has_callback_url and l.name = any(case l.kind when 'queue' then w.queues else w.workflows end)
      ) asked
      cross join lateral (
        select count(*) filter (where held.expires_at > now()) as nodes_alive, max(node.seen_at) as node_seen_at
        from tidemill.lease held left join tidemill.node on node.lease_id = held.id where held.holder = 'node'
      ) nodes
      left join tidemill.lease claim on claim.id = requested.lease_id
      left join lateral (
        select occurred_at as paused_at, actor_id as paused_by
        from (
          select seq, occurred_at, actor_id, resource_id, input, output from audit_event
          where workspace_id = ${workspaceId} and event_type = 'queue.updated' and g.paused and q.id is not null order by seq desc limit ${MAX_CHANGES}::int
        ) changed
        where resource_id = l.name and occurred_at >= q.created_at and input::json ->> 'paused' = 'true'
          and output::jsonb -> 'changed' @> '"paused"'
        order by seq desc limit 1
      ) pause on true
      left join circuit c on c.workspace_id = ${workspaceId} and c.lane_id = ${laneId}
      cross join lateral (
        select count(*) as counted, greatest(${MAX_COUNTED}::int, g.slots_free, g.starts_free) as max_counted
        from (
          (select from job
            where workspace_id = ${workspaceId} and lane_id = ${laneId} and state = 'waiting' and (concurrency_key is null or key_slot is not null)
              and requested.waits and priority > requested.priority
            order by priority desc, run_at, id limit greatest(${MAX_COUNTED}::int, g.slots_free, g.starts_free) + 1)
          union all
          (select from job
            where workspace_id = ${workspaceId} and lane_id = ${laneId} and state = 'waiting' and (concurrency_key is null or key_slot is not null)
              and requested.waits and priority = requested.priority and (run_at, id) < (requested.in_line_at, requested.id)
            order by priority desc, run_at, id limit greatest(${MAX_COUNTED}::int, g.slots_free, g.starts_free) + 1)
          limit greatest(${MAX_COUNTED}::int, g.slots_free, g.starts_free) + 1
        ) before
      ) line
      cross join lateral (
        select count(*) as counted
        from (
          (select from job
            where lane_key(lane_id, concurrency_key) collate "C" = requested.lane_key and workspace_id is not distinct from ${workspaceId}
              and state = 'waiting' and concurrency_key is not null and requested.waits and priority > requested.priority
            order by priority desc, run_at, id limit ${MAX_COUNTED}::int + 1)
          union all
          (select from job
            where lane_key(lane_id, concurrency_key) collate "C" = requested.lane_key and workspace_id is not distinct from ${workspaceId}
              and state = 'waiting' and concurrency_key is not null and requested.waits
              and priority = requested.priority and (run_at, id) < (requested.in_line_at, requested.id)
            order by priority desc, run_at, id limit ${MAX_COUNTED}::int + 1)
          limit ${MAX_COUNTED}::int + 1
        ) before
      ) of_key
      cross join lateral (
        select count(*) as lane_active, count(*) filter (where concurrency_key = requested.concurrency_key) as key_active
        from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and state = 'active'
      ) in_flight
      left join lateral (
        select id, started_at
        from job
        where workspace_id = ${workspaceId} and lane_id = ${laneId} and state = 'active' and concurrency_key = requested.concurrency_key
        order by started_at, id limit 1
      ) oldest_of_key on true
      left join lateral (
        select id, started_at
        from job
        where g.concurrency is not null and workspace_id = ${workspaceId} and lane_id = ${laneId} and state = 'active'
          and kind in ('queue', 'run', 'undo')
        order by started_at, id limit 1
      ) oldest_of_lane on true`,
  );
