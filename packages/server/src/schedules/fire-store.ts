import type { SkipReason } from "@tidemill/contract";
import { type Db, fragment, type JobId, plainArray, row, rows, sql, type Timestamp, textArray, toMoment, type WorkspaceId } from "#kernel";
import type { LaneKind } from "#lanes";
import type { Schedule, ScheduleId } from "./schedule.ts";

/** A schedule with a due tick, locked until the transaction ends. */
export interface DueSchedule extends Schedule {
  /** Moments in milliseconds since 1970, by the database. */
  readonly due_ms: number;
  readonly now_ms: number;
  /** Whether its workspace has a quota. */
  readonly limited: boolean;
  /** What its lane belongs to: ticks create jobs of a queue, or start runs of a workflow. */
  readonly lane_kind: LaneKind;
  readonly lane_attempts: number;
  readonly lane_backoff_delay_ms: number;
  /** Ticks that the quota refused and no audit event contains yet, the moment of the first one, and when the last such event was recorded. */
  readonly unreported_skips: number;
  readonly unreported_since: Timestamp | null;
  readonly reported_at: Timestamp | null;
}

const LANE_COLUMNS = fragment`l.kind as lane_kind, l.attempts as lane_attempts, l.backoff_delay_ms as lane_backoff_delay_ms`;

/** How long until the next tick of any schedule is due. Milliseconds; zero or less when one is due. Uses index schedule_due. */
export const findNextDueAcrossWorkspaces = async (db: Db): Promise<number | null> =>
  (
    await row<{ in_ms: number }>(
      db,
      sql`
        select (extract(epoch from next_run_at - moment()) * 1000)::float8 as in_ms from schedule
        where not paused and next_run_at is not null order by next_run_at limit 1`,
    )
  )?.in_ms ?? null;

/** The workspaces with due ticks and how many of their schedules are due, the workspace with the oldest tick first. Uses index schedule_due. */
export const findDueAcrossWorkspaces = (db: Db): Promise<{ id: WorkspaceId; schedules: number }[]> =>
  rows(
    db,
    sql`
      select workspace_id as id, count(*) as schedules from schedule where not paused and next_run_at <= moment()
      group by workspace_id order by min(next_run_at), workspace_id`,
  );

/** Limits of one transaction. */
export interface FireLimits {
  /** Schedules per workspace that are on time. */
  readonly punctual: number;
  /** Schedules per workspace that are overdue. */
  readonly overdue: number;
  /** Weight of all schedules together. The first one is taken even if it weighs more. */
  readonly weight: number;
  /** A schedule weighs 1, and 1 more for each of these bytes of payload. */
  readonly weightBytes: number;
  /** How late a tick may be to count as on time. */
  readonly onTimeMs: number;
}

/**
 * Locks a share of each workspace's schedules with a due tick, and skips those that another node has locked. Workspaces take turns by
 * weight. Within a workspace, schedules that are on time get four turns for one of the overdue ones, whose newest ticks come first: a
 * schedule that catches up after a long downtime does not delay others. Uses index schedule_share.
 */
export const lockSharesAcrossWorkspaces = (tx: Db, workspaceIds: readonly WorkspaceId[], limits: FireLimits): Promise<DueSchedule[]> =>
  rows(
    tx,
    sql`
      with punctual as (
        select s.* from unnest(${plainArray(workspaceIds)}::uuid[]) w (id) cross join lateral (
          select * from schedule
          where workspace_id = w.id and next_run_at <= moment() and next_run_at >= moment() - ${limits.onTimeMs}::int * interval '1 millisecond'
          order by next_run_at limit ${limits.punctual} for update skip locked) s
      ), overdue as (
        select s.* from unnest(${plainArray(workspaceIds)}::uuid[]) w (id) cross join lateral (
          select * from schedule
          where workspace_id = w.id and next_run_at < moment() - ${limits.onTimeMs}::int * interval '1 millisecond'
          order by next_run_at desc limit ${limits.overdue} for update skip locked) s
      ), due as (
        select *, sum(own) over (partition by workspace_id order by next_run_at, id) as turn
        from punctual, lateral (select 1 + octet_length(payload) / ${limits.weightBytes}::int as own) w
        union all
        select *, 4 * sum(own) over (partition by workspace_id order by next_run_at desc, id) as turn
        from overdue, lateral (select 1 + octet_length(payload) / ${limits.weightBytes}::int as own) w
      ), weighed as (
        select *, row_number() over turns as place, sum(own) over turns as weight
        from due window turns as (order by turn, next_run_at, workspace_id, id)
      )
      select d.*, l.name as queue, ${LANE_COLUMNS}, w.executions_per_month is not null as limited,
        (extract(epoch from d.next_run_at) * 1000)::float8 as due_ms, (extract(epoch from moment()) * 1000)::float8 as now_ms
      from weighed d
      join lane l on l.workspace_id = d.workspace_id and l.id = d.lane_id
      join workspace w on w.id = d.workspace_id
      where d.place = 1 or d.weight <= ${limits.weight}::int
      order by d.place`,
  );

/** Locks one schedule if its tick is due. Uses the primary key. */
export const lockDue = (tx: Db, { workspace_id, id }: Pick<Schedule, "workspace_id" | "id">): Promise<DueSchedule | null> =>
  row(
    tx,
    sql`
      select s.*, l.name as queue, ${LANE_COLUMNS}, w.executions_per_month is not null as limited,
        (extract(epoch from s.next_run_at) * 1000)::float8 as due_ms, (extract(epoch from moment()) * 1000)::float8 as now_ms
      from schedule s
      join lane l on l.workspace_id = s.workspace_id and l.id = s.lane_id
      join workspace w on w.id = s.workspace_id
      where s.workspace_id = ${workspace_id} and s.id = ${id} and s.next_run_at <= moment()
      for update of s`,
  );

/**
 * Which of these schedules have an unfinished job. It runs after they were locked, so that it sees what the lock's last holder committed.
 * Uses index job_schedule.
 */
export const findBusyAcrossWorkspaces = async (tx: Db, schedules: readonly Schedule[]): Promise<ReadonlySet<ScheduleId>> =>
  new Set(
    (
      await rows<{ id: ScheduleId }>(
        tx,
        sql`
          select s.id from unnest(${plainArray(schedules.map(({ workspace_id }) => workspace_id))}::uuid[],
            ${plainArray(schedules.map(({ id }) => id))}::bigint[], ${textArray(schedules.map(({ name }) => name))}::text[]) s (workspace_id, id, name)
          where exists (select from job j where j.workspace_id = s.workspace_id and j.schedule = s.name and j.state <> 'failed')`,
      )
    ).map(({ id }) => id),
  );

/** A tick that is to create a job. */
export interface TickToTake {
  readonly workspaceId: WorkspaceId;
  readonly scheduleId: ScheduleId;
  readonly atMs: number;
}

/** The changes to a schedule after its ticks. Moments are milliseconds since 1970. Null is stored, except where a comment says otherwise. */
export interface Advance {
  readonly workspaceId: WorkspaceId;
  readonly scheduleId: ScheduleId;
  readonly nextMs: number | null;
  readonly catchUpToMs: number | null;
  /** Null: unchanged. */
  readonly lastTickMs: number | null;
  /** Null: unchanged, and `jobId` too. */
  readonly runMs: number | null;
  readonly jobId: JobId | null;
  /** Null: unchanged, and `skipReason` too. */
  readonly skipMs: number | null;
  readonly skipReason: SkipReason | null;
  readonly unreportedSkips: number;
  readonly unreportedSinceMs: number | null;
  readonly reportedMs: number | null;
}

/**
 * Records ticks and advances their schedules. Returns the ticks that had not been recorded before: only these create jobs (I7).
 * Deletes ticks that are more than a minute old. Uses the primary keys.
 */
export const takeTicksAcrossWorkspaces = async (
  tx: Db,
  ticks: readonly TickToTake[],
  advances: readonly Advance[],
): Promise<{ id: ScheduleId; atMs: number }[]> => {
  const moments = <Of>(of: readonly Of[], moment: (one: Of) => number | null) =>
    textArray(of.map(moment).map((ms) => (ms === null ? null : toMoment(ms))));
  return rows(
    tx,
    sql`
      with taken as (
        insert into schedule_tick (workspace_id, schedule_id, tick_at)
        select * from unnest(${plainArray(ticks.map(({ workspaceId }) => workspaceId))}::uuid[],
          ${plainArray(ticks.map(({ scheduleId }) => scheduleId))}::bigint[], ${moments(ticks, ({ atMs }) => atMs)}::timestamptz[])
        on conflict do nothing
        returning schedule_id, tick_at
      ), advance as (
        select * from unnest(${plainArray(advances.map(({ workspaceId }) => workspaceId))}::uuid[],
          ${plainArray(advances.map(({ scheduleId }) => scheduleId))}::bigint[],
          ${moments(advances, ({ nextMs }) => nextMs)}::timestamptz[], ${moments(advances, ({ catchUpToMs }) => catchUpToMs)}::timestamptz[],
          ${moments(advances, ({ lastTickMs }) => lastTickMs)}::timestamptz[],
          ${moments(advances, ({ runMs }) => runMs)}::timestamptz[], ${plainArray(advances.map(({ jobId }) => jobId))}::uuid[],
          ${moments(advances, ({ skipMs }) => skipMs)}::timestamptz[], ${textArray(advances.map(({ skipReason }) => skipReason))}::text[],
          ${plainArray(advances.map(({ unreportedSkips }) => unreportedSkips))}::int[],
          ${moments(advances, ({ unreportedSinceMs }) => unreportedSinceMs)}::timestamptz[], ${moments(advances, ({ reportedMs }) => reportedMs)}::timestamptz[])
          as a (workspace_id, schedule_id, next_run_at, catch_up_to, last_tick_at, last_run_at, last_job_id, last_skip_at, last_skip_reason,
            unreported_skips, unreported_since, reported_at)
      ), moved as (
        update schedule s set next_run_at = a.next_run_at, catch_up_to = a.catch_up_to, last_tick_at = coalesce(a.last_tick_at, s.last_tick_at),
          last_run_at = coalesce(a.last_run_at, s.last_run_at), last_job_id = coalesce(a.last_job_id, s.last_job_id),
          last_skip_at = coalesce(a.last_skip_at, s.last_skip_at), last_skip_reason = coalesce(a.last_skip_reason, s.last_skip_reason),
          unreported_skips = a.unreported_skips, unreported_since = a.unreported_since, reported_at = a.reported_at
        from advance a where s.workspace_id = any(array[a.workspace_id]) and s.id = a.schedule_id
      ), forgotten as (
        delete from schedule_tick t using advance a
        where t.workspace_id = any(array[a.workspace_id]) and t.schedule_id = a.schedule_id and t.tick_at < moment() - interval '1 minute'
      )
      select schedule_id as id, (extract(epoch from tick_at) * 1000)::float8 as "atMs" from taken`,
  );
};
