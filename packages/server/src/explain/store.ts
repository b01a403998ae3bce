import type { JobState, Plan } from "@tidemill/contract";
import type { JobKey } from "#jobs";
import { type Db, row, sql, type Timestamp } from "#kernel";
import type { Queue } from "#queues";

/** Jobs ahead are counted so far, unless a limit of the queue needs more of them counted. */
const MOST_COUNTED = 10_000;

/** A job with all that decides whether it starts, as one snapshot has it. */
export interface Found {
  readonly now: Timestamp;
  readonly state: JobState;
  readonly attempt: number;
  readonly attempts: number;
  readonly run_at: Timestamp;
  readonly run_at_is_ahead: boolean;
  readonly started_at: Timestamp | null;
  readonly finished_at: Timestamp | null;
  readonly concurrency_key: string | null;
  readonly key_slot: number | null;
  /** How it was decided, JSON. */
  readonly approval: string | null;
  readonly decide_at: Timestamp | null;
  readonly type: Queue["type"];
  readonly approval_timeout: number | null;
  readonly on_timeout: Queue["on_timeout"];
  readonly concurrency_per_key: number;
  /** The columns of lane_gate. */
  readonly plan: Plan;
  readonly paused: boolean;
  readonly has_handler: boolean;
  readonly concurrency: number | null;
  readonly in_flight: number | null;
  readonly slots_free: number | null;
  readonly rate_max: number | null;
  readonly rate_seconds: number | null;
  readonly started: number | null;
  readonly starts_free: number | null;
  readonly starts_at: Timestamp | null;
  /** When starts that count against the rate no longer do, in milliseconds since 1970, and how many; soonest first. */
  readonly expiries: readonly (readonly [ms: number, starts: number])[];
  /** The circuit, while it is open. */
  readonly opened_at: Timestamp | null;
  readonly probe_at: Timestamp | null;
  readonly probe_is_due: boolean;
  readonly last_error: string | null;
  /** Claimable jobs of the lane before this one; none is counted for a job that does not wait. */
  readonly ahead: number;
  readonly ahead_is_more: boolean;
  /** Of its key: active jobs, and those that wait before it. */
  readonly key_active: number;
  readonly key_ahead: number;
  readonly key_ahead_is_more: boolean;
  /** Jobs of the lane that finished in the last minute, and those that are active now. */
  readonly finished_last_minute: number;
  readonly lane_active: number;
}

/**
 * A job with what admits the jobs of its lane, as a claim of this moment would find it. What goes before it is counted by the index
 * that claims go by, in their order, and never further than `MOST_COUNTED` and the limits need; the order is what keeps a planner that
 * knows nothing of the table to that index. Leans on job_claimable, job_key, job_active, tally_lane and the primary keys.
 */
export const findExplained = (db: Db, { workspaceId, laneId, id }: JobKey): Promise<Found | null> =>
  row(
    db,
    sql`
      with asked as (
        select r.id, r.state, r.priority, r.attempt, r.attempts + r.spared as attempts, r.run_at, r.run_at > moment() as run_at_is_ahead,
          r.started_at, r.finished_at, r.concurrency_key, lane_key(r.lane_id, r.concurrency_key) as lane_key, r.approval, live.key_slot, live.decide_at,
          r.state in ('waiting', 'delayed', 'pending_approval') as waits,
          -- An approval would put it in line behind those that are due.
          case when r.state = 'pending_approval' then greatest(r.run_at, moment()) else r.run_at end as in_line_at
        from job_record r
        left join job live on live.workspace_id = ${workspaceId} and live.lane_id = ${laneId} and live.id = r.id
        where r.workspace_id = ${workspaceId} and r.lane_id = ${laneId} and r.id = ${id}
      )
      select moment() as now, asked.*, q.approval_timeout, q.on_timeout, q.type, q.concurrency_per_key, g.*,
        c.opened_at, c.probe_at, coalesce(c.probe_at <= moment(), false) as probe_is_due, c.last_error,
        least(line.counted, line.most) as ahead, line.counted > line.most as ahead_is_more,
        in_flight.lane_active, in_flight.key_active, least(of_key.counted, ${MOST_COUNTED}::int) as key_ahead, of_key.counted > ${MOST_COUNTED}::int as key_ahead_is_more,
        (select coalesce(sum(t.completed + t.failed), 0) from tally t
          where t.workspace_id = ${workspaceId} and t.lane_id = ${laneId} and t.at > moment() - interval '1 minute') as finished_last_minute,
        coalesce((
          select json_agg(json_build_array(extract(epoch from e.at + g.rate_seconds * interval '1 second') * 1000, e.jobs) order by e.at)
          from lane_starts s cross join unnest(s.at, s.jobs) as e (at, jobs)
          where s.workspace_id = ${workspaceId} and s.lane_id = ${laneId} and e.at + g.rate_seconds * interval '1 second' >= g.starts_at
        ), '[]') as expiries
      from asked
      join queue_record q on q.workspace_id = ${workspaceId} and q.id = ${laneId}
      cross join lateral (
        select plan, paused, served = 'push' as has_handler, concurrency, in_flight, slots_free, rate_max, rate_seconds, started, starts_free, starts_at
        from lane_gate where workspace_id = ${workspaceId} and lane_id = ${laneId} offset 0
      ) g
      left join circuit c on c.workspace_id = ${workspaceId} and c.lane_id = ${laneId}
      cross join lateral (
        select count(*) as counted, greatest(${MOST_COUNTED}::int, g.slots_free, g.starts_free) as most
        from (
          (select from job
            where workspace_id = ${workspaceId} and lane_id = ${laneId} and state = 'waiting' and (concurrency_key is null or key_slot is not null)
              and asked.waits and priority > asked.priority
            order by priority desc, run_at, id limit greatest(${MOST_COUNTED}::int, g.slots_free, g.starts_free) + 1)
          union all
          (select from job
            where workspace_id = ${workspaceId} and lane_id = ${laneId} and state = 'waiting' and (concurrency_key is null or key_slot is not null)
              and asked.waits and priority = asked.priority and (run_at, id) < (asked.in_line_at, asked.id)
            order by priority desc, run_at, id limit greatest(${MOST_COUNTED}::int, g.slots_free, g.starts_free) + 1)
          limit greatest(${MOST_COUNTED}::int, g.slots_free, g.starts_free) + 1
        ) before
      ) line
      cross join lateral (
        select count(*) as counted
        from (
          (select from job
            where lane_key(lane_id, concurrency_key) collate "C" = asked.lane_key and workspace_id is not distinct from ${workspaceId}
              and state = 'waiting' and concurrency_key is not null and asked.waits and priority > asked.priority
            order by priority desc, run_at, id limit ${MOST_COUNTED}::int + 1)
          union all
          (select from job
            where lane_key(lane_id, concurrency_key) collate "C" = asked.lane_key and workspace_id is not distinct from ${workspaceId}
              and state = 'waiting' and concurrency_key is not null and asked.waits
              and priority = asked.priority and (run_at, id) < (asked.in_line_at, asked.id)
            order by priority desc, run_at, id limit ${MOST_COUNTED}::int + 1)
          limit ${MOST_COUNTED}::int + 1
        ) before
      ) of_key
      cross join lateral (
        select count(*) as lane_active, count(*) filter (where concurrency_key = asked.concurrency_key) as key_active
        from job where workspace_id = ${workspaceId} and lane_id = ${laneId} and state = 'active'
      ) in_flight`,
  );
