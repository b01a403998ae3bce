import type { Decision, JobState } from "@tidemill/contract";
import { type Db, type JobId, plainArray, row, rows, sql, type Timestamp, type WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import { ANNOUNCE_APPROVED, ANNOUNCE_REJECTED } from "./announce.ts";
import { COUNT_APPROVED, COUNT_GONE } from "./counts.ts";
import { ARCHIVE_GONE, ASSIGN_SLOTS_OF_WAITING } from "./fragments.ts";

/** How long until the next approval times out, in milliseconds: 0 or less when one is overdue. Uses index job_undecided. */
export const findNextDecisionAcrossWorkspaces = async (db: Db): Promise<number | null> =>
  (
    await row<{ in_ms: number }>(
      db,
      sql`
        select (extract(epoch from decide_at - moment()) * 1000)::float8 as in_ms from job
        where state = 'pending_approval' and decide_at is not null order by state, decide_at limit 1`,
    )
  )?.in_ms ?? null;

/** The workspaces with overdue approvals, the longest waiting first, by one lookup per workspace. Uses index job_undecided_share. */
export const findOverdueAcrossWorkspaces = async (db: Db): Promise<WorkspaceId[]> =>
  (
    await rows<{ id: WorkspaceId }>(
      db,
      sql`
        with recursive earliest as (
          (select workspace_id, decide_at from job
            where state = 'pending_approval' and decide_at is not null
            order by workspace_id, decide_at limit 1)
          union all
          select next.workspace_id, next.decide_at from earliest cross join lateral (
            select workspace_id, decide_at from job
            where state = 'pending_approval' and decide_at is not null and workspace_id > earliest.workspace_id
            order by workspace_id, decide_at limit 1) next
        )
        select workspace_id as id from earliest where decide_at <= moment() order by decide_at`,
    )
  ).map(({ id }) => id);

/** A job whose approval timed out, as it is now. */
export interface OverdueJob {
  readonly workspace_id: WorkspaceId;
  readonly lane_id: LaneId;
  readonly id: JobId;
  readonly queue: string;
  /** Null when its queue no longer has an approval time-out: the job stays pending. */
  readonly decision: Decision["decision"] | null;
  readonly state: Extract<JobState, "pending_approval" | "waiting" | "delayed" | "rejected">;
  /** Null when it was rejected. */
  readonly run_at: Timestamp | null;
}

/** The limits of one transaction. */
export interface DecideLimits {
  /** The maximum for each workspace. */
  readonly maxJobs: number;
  /** The maximum for all jobs together. A job weighs 1, and 1 more for each `bytesPerWeight` of payload. One job is decided in any case. */
  readonly maxWeight: number;
  readonly bytesPerWeight: number;
}

/**
 * Decides a share of each workspace's overdue jobs, as their queues say now. Jobs that another transaction has locked are skipped.
 * Uses index job_undecided_share.
 */
export const decideSharesAcrossWorkspaces = (tx: Db, workspaceIds: readonly WorkspaceId[], limits: DecideLimits): Promise<OverdueJob[]> =>
  rows(
    tx,
    sql`
      with locked as (
        select j.*, sum(own) over (partition by workspace_id order by decide_at, id) as turn
        from (
          select j.* from unnest(${plainArray(workspaceIds)}::uuid[]) w (id) cross join lateral (
            select workspace_id, lane_id, id, decide_at, 1 + octet_length(payload) / ${limits.bytesPerWeight}::int as own from job
            where workspace_id = w.id and state = 'pending_approval' and decide_at <= moment()
            order by decide_at limit ${limits.maxJobs} for update skip locked) j
        ) j
      ), due as (
        select l.workspace_id, l.lane_id, l.id, lane.name as queue,
          case when lane.deleted_at is null and q.approval_timeout is not null
            then case q.on_timeout when 'approve' then 'approved' else 'rejected' end end as decision
        from (select *, row_number() over turns as place, sum(own) over turns as weight from locked window turns as (order by turn, workspace_id, id)) l
        left join lane on lane.workspace_id = l.workspace_id and lane.id = l.lane_id
        left join queue q on q.workspace_id = l.workspace_id and q.id = l.lane_id
        where l.place = 1 or l.weight <= ${limits.maxWeight}::int
      ), moved as (
        update job j set
          state = case when d.decision is null then 'pending_approval' when j.run_at > moment() then 'delayed' else 'waiting' end::job_state,
          run_at = case when d.decision is null then j.run_at else greatest(j.run_at, moment()) end,
          decide_at = null, approval = case when d.decision is not null then show_decision(d.decision, null, null) end
        from due d
        where j.workspace_id = any(array[d.workspace_id]) and j.lane_id = d.lane_id and j.id = d.id and d.decision is distinct from 'rejected'
        returning j.*
      ), gone as (
        delete from job j using due d
        where j.workspace_id = any(array[d.workspace_id]) and j.lane_id = d.lane_id and j.id = d.id and d.decision = 'rejected'
        returning j.*, 'rejected'::job_state as final_state, j.attempts_log as final_log,
          show_decision('rejected', null, null) as final_approval, null::text as result
      ), archived as (
        ${ARCHIVE_GONE}
      ), tallied as (
        ${COUNT_GONE}
      ), approved as (
        ${COUNT_APPROVED}
      )
      select d.*, coalesce(m.state, 'rejected') as state, m.run_at, ${ANNOUNCE_APPROVED} as announced_approvals,
        ${ANNOUNCE_REJECTED} as announced_rejections, ${ASSIGN_SLOTS_OF_WAITING} as assigned
      from due d left join moved m on m.workspace_id = d.workspace_id and m.lane_id = d.lane_id and m.id = d.id
      order by d.workspace_id, d.id`,
  );
