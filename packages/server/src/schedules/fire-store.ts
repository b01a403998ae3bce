import type { SkipReason } from "@tidemill/contract";
import { type Db, type JobId, plainArray, row, rows, sql, textArray, toMoment, type WorkspaceId } from "#kernel";
import type { Schedule, ScheduleId } from "./schedule.ts";

/** A schedule with a due tick, locked until the transaction ends. */
export interface DueSchedule extends Schedule {
  /** Moments in milliseconds since 1970, by the database. */
  readonly due_ms: number;
  readonly now_ms: number;
  /** Its workspace has a quota. */
  readonly limited: boolean;
}

/** How long until the next tick of any schedule is due, in milliseconds: none or less when one is. Leans on schedule_due. */
export const findNextDueAcrossWorkspaces = async (db: Db): Promise<number | null> =>
  (
    await row<{ in_ms: number }>(
      db,
      sql`
        select (extract(epoch from next_run_at - moment()) * 1000)::float8 as in_ms from schedule
        where next_run_at is not null order by next_run_at limit 1`,
    )
  )?.in_ms ?? null;

/**
 * Locks schedules whose tick is due, the longest due first, as many as weigh no more than `weight` together, by number and by size
 * of payload; but one in any case. What another node has locked is passed over. Leans on schedule_due.
 */
export const lockDueAcrossWorkspaces = (
  tx: Db,
  { most, weight, weightBytes }: { most: number; weight: number; weightBytes: number },
): Promise<DueSchedule[]> =>
  rows(
    tx,
    sql`
      with due as (
        select * from schedule where next_run_at <= moment() order by next_run_at limit ${most} for update skip locked
      ), weighed as (
        select due.*, sum(1 + octet_length(payload) / ${weightBytes}::int) over (order by next_run_at, workspace_id, id) as weight,
          row_number() over (order by next_run_at, workspace_id, id) as place
        from due
      )
      select d.*, q.name as queue, w.executions_per_month is not null as limited,
        (extract(epoch from d.next_run_at) * 1000)::float8 as due_ms, (extract(epoch from moment()) * 1000)::float8 as now_ms
      from weighed d
      join queue q on q.workspace_id = d.workspace_id and q.id = d.lane_id
      join workspace w on w.id = d.workspace_id
      where d.place = 1 or d.weight <= ${weight}::int`,
  );

/** Locks one schedule if its tick is due. Leans on the primary key. */
export const lockDue = (tx: Db, { workspace_id, id }: Pick<Schedule, "workspace_id" | "id">): Promise<DueSchedule | null> =>
  row(
    tx,
    sql`
      select s.*, q.name as queue, w.executions_per_month is not null as limited,
        (extract(epoch from s.next_run_at) * 1000)::float8 as due_ms, (extract(epoch from moment()) * 1000)::float8 as now_ms
      from schedule s
      join queue q on q.workspace_id = s.workspace_id and q.id = s.lane_id
      join workspace w on w.id = s.workspace_id
      where s.workspace_id = ${workspace_id} and s.id = ${id} and s.next_run_at <= moment()
      for update of s`,
  );

/**
 * Those of the schedules that have a job which has not finished. Asked once they are locked: what their last holder committed is
 * seen. Leans on job_schedule.
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

/** A tick that is to make a job. */
export interface TakenTick {
  readonly workspaceId: WorkspaceId;
  readonly scheduleId: ScheduleId;
  readonly atMs: number;
}

/** How a schedule goes on. Moments are milliseconds since 1970; null leaves what is stored, but for `nextMs`, where it is the end. */
export interface Advance {
  readonly workspaceId: WorkspaceId;
  readonly scheduleId: ScheduleId;
  readonly nextMs: number | null;
  readonly lastTickMs: number;
  readonly runMs: number | null;
  readonly jobId: JobId | null;
  readonly skipMs: number | null;
  readonly skipReason: SkipReason | null;
}

/**
 * Records ticks, and moves their schedules on. Answers those that had not been recorded before: they alone make jobs (I7). Ticks of
 * an hour ago are forgotten. Leans on the primary keys.
 */
export const takeTicksAcrossWorkspaces = async (
  tx: Db,
  ticks: readonly TakenTick[],
  advances: readonly Advance[],
): Promise<{ scheduleId: ScheduleId; atMs: number }[]> => {
  const moments = (values: readonly (number | null)[]) => textArray(values.map((ms) => (ms === null ? null : toMoment(ms))));
  return rows(
    tx,
    sql`
      with taken as (
        insert into schedule_tick (workspace_id, schedule_id, tick_at)
        select * from unnest(${plainArray(ticks.map(({ workspaceId }) => workspaceId))}::uuid[],
          ${plainArray(ticks.map(({ scheduleId }) => scheduleId))}::bigint[], ${moments(ticks.map(({ atMs }) => atMs))}::timestamptz[])
        on conflict do nothing
        returning schedule_id, tick_at
      ), advance as (
        select * from unnest(${plainArray(advances.map(({ workspaceId }) => workspaceId))}::uuid[],
          ${plainArray(advances.map(({ scheduleId }) => scheduleId))}::bigint[],
          ${moments(advances.map(({ nextMs }) => nextMs))}::timestamptz[], ${moments(advances.map(({ lastTickMs }) => lastTickMs))}::timestamptz[],
          ${moments(advances.map(({ runMs }) => runMs))}::timestamptz[], ${plainArray(advances.map(({ jobId }) => jobId))}::uuid[],
          ${moments(advances.map(({ skipMs }) => skipMs))}::timestamptz[], ${textArray(advances.map(({ skipReason }) => skipReason))}::text[])
          as a (workspace_id, schedule_id, next_run_at, last_tick_at, last_run_at, last_job_id, last_skip_at, last_skip_reason)
      ), moved as (
        update schedule s set next_run_at = a.next_run_at, last_tick_at = a.last_tick_at,
          last_run_at = coalesce(a.last_run_at, s.last_run_at), last_job_id = coalesce(a.last_job_id, s.last_job_id),
          last_skip_at = coalesce(a.last_skip_at, s.last_skip_at), last_skip_reason = coalesce(a.last_skip_reason, s.last_skip_reason)
        from advance a where s.workspace_id = any(array[a.workspace_id]) and s.id = a.schedule_id
      ), forgotten as (
        delete from schedule_tick t using advance a
        where t.workspace_id = any(array[a.workspace_id]) and t.schedule_id = a.schedule_id and t.tick_at < moment() - interval '1 hour'
      )
      select schedule_id as "scheduleId", (extract(epoch from tick_at) * 1000)::float8 as "atMs" from taken`,
  );
};
