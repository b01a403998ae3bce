import { type Db, type JobId, row, rows, sql, type Timestamp, toMoment, type WorkspaceId } from "#kernel";
import type { LaneId, LaneKey } from "#lanes";
import type { Schedule } from "./schedule.ts";

/** The settings that a caller may set; `undefined` leaves a setting as it is. */
export interface ScheduleSettings {
  readonly cron: string | undefined;
  readonly timezone: string | undefined;
  /** JSON text. */
  readonly payload: string | undefined;
  readonly tag: string | null | undefined;
  readonly priority: number | undefined;
  readonly concurrencyKey: string | null | undefined;
  readonly attempts: number | null | undefined;
  readonly overlap: Schedule["overlap"] | undefined;
  readonly catchUp: Schedule["catch_up"] | undefined;
}

/** The lane of a queue that cannot be deleted until the transaction ends, and the database's time. */
export interface HeldLane {
  readonly id: LaneId;
  readonly now: Timestamp;
}

/**
 * Locks a queue's lane so that the queue cannot be deleted until the transaction ends. A later delete then finds the schedule that the
 * transaction gives to the queue, and deletes it too. Uses index lane_name.
 */
export const lockLane = (db: Db, workspaceId: WorkspaceId, queue: string): Promise<HeldLane | null> =>
  row(
    db,
    sql`
      select id, moment() as now from lane
      where workspace_id = ${workspaceId} and kind = 'queue' and name = ${queue} and deleted_at is null for share`,
  );

/** The base or, if it is taken, the base with the first free number from 2 to 9, cut to the length of a name. Uses index schedule_name. */
export const findFreeName = (db: Db, workspaceId: WorkspaceId, base: string): Promise<{ name: string } | null> =>
  row(
    db,
    sql`
      select c.name from generate_series(1, 9) n, lateral (select case n when 1 then ${base} else left(${base}, 126) || '-' || n end as name) c
      where c.name <> 'preview' and not exists (select from schedule s where s.workspace_id = ${workspaceId} and s.name = c.name)
      order by n limit 1`,
  );

/** Returns null when the name is taken. Uses index schedule_name. */
export const insertSchedule = (
  db: Db,
  { workspaceId, name, laneId, nextMs }: { workspaceId: WorkspaceId; name: string; laneId: LaneId; nextMs: number | null },
  settings: ScheduleSettings,
): Promise<Omit<Schedule, "queue"> | null> =>
  row(
    db,
    sql`
      insert into schedule (workspace_id, name, lane_id, cron, timezone, payload, tag, priority, concurrency_key, attempts, overlap,
        catch_up, next_run_at)
      values (${workspaceId}, ${name}, ${laneId}, ${settings.cron}, ${settings.timezone}, coalesce(${settings.payload}, 'null'),
        ${settings.tag}, coalesce(${settings.priority}::int, 0), ${settings.concurrencyKey}, ${settings.attempts},
        coalesce(${settings.overlap}, 'allow'), coalesce(${settings.catchUp}, 'last'), ${nextMs === null ? null : toMoment(nextMs)})
      on conflict (workspace_id, name) do nothing
      returning *`,
  );

/** Uses index schedule_name. */
export const findSchedule = (db: Db, workspaceId: WorkspaceId, name: string): Promise<Schedule | null> =>
  row(
    db,
    sql`
      select s.*, l.name as queue from schedule s join lane l on l.workspace_id = s.workspace_id and l.id = s.lane_id
      where s.workspace_id = ${workspaceId} and s.name = ${name}`,
  );

/** The names next to a name in alphabetical order: at most `limit` before and after it. Uses index schedule_name. */
export const listNamesAround = (db: Db, workspaceId: WorkspaceId, name: string, limit: number): Promise<{ name: string }[]> =>
  rows(
    db,
    sql`
      (select name from schedule where workspace_id = ${workspaceId} and name >= ${name} and not starts_with(name, 'workflow:') order by name limit ${limit})
      union all
      (select name from schedule where workspace_id = ${workspaceId} and name < ${name} and not starts_with(name, 'workflow:') order by name desc limit ${limit})`,
  );

/** Locks the schedule until the transaction ends, and returns the database's time. Uses index schedule_name. */
export const lockSchedule = (
  db: Db,
  workspaceId: WorkspaceId,
  name: string,
): Promise<(Pick<Schedule, "workspace_id" | "id"> & { now: Timestamp }) | null> =>
  row(db, sql`select workspace_id, id, moment() as now from schedule where workspace_id = ${workspaceId} and name = ${name} for update`);

/** Identifies a schedule in a statement that changes it. */
type ScheduleKey = Pick<Schedule, "workspace_id" | "id">;

/** Values that are `undefined` stay as they are. A new next run ends any catching up. Uses the primary key. */
export const updateSchedule = (
  db: Db,
  { workspace_id, id }: ScheduleKey,
  { laneId, nextMs, ...settings }: ScheduleSettings & { laneId: LaneId | undefined; nextMs: number | null | undefined },
): Promise<Omit<Schedule, "queue"> | null> =>
  row(
    db,
    sql`
      update schedule set
        lane_id = coalesce(${laneId}::bigint, lane_id),
        cron = coalesce(${settings.cron}, cron),
        timezone = coalesce(${settings.timezone}, timezone),
        payload = coalesce(${settings.payload}, payload),
        tag = case when ${settings.tag !== undefined} then ${settings.tag} else tag end,
        priority = coalesce(${settings.priority}::int, priority),
        concurrency_key = case when ${settings.concurrencyKey !== undefined} then ${settings.concurrencyKey} else concurrency_key end,
        attempts = case when ${settings.attempts !== undefined} then ${settings.attempts}::int else attempts end,
        overlap = coalesce(${settings.overlap}, overlap),
        catch_up = coalesce(${settings.catchUp}, catch_up),
        next_run_at = case when ${nextMs !== undefined} then ${nextMs == null ? null : toMoment(nextMs)}::timestamptz else next_run_at end,
        catch_up_to = case when ${nextMs !== undefined} then null else catch_up_to end,
        updated_at = moment()
      where workspace_id = ${workspace_id} and id = ${id}
      returning *`,
  );

/** Pauses or resumes a schedule. Both end any catching up. Uses the primary key. */
export const updatePaused = (
  db: Db,
  { workspace_id, id }: ScheduleKey,
  { paused, nextMs }: { paused: boolean; nextMs: number | null },
): Promise<Omit<Schedule, "queue"> | null> =>
  row(
    db,
    sql`
      update schedule set paused = ${paused}, next_run_at = ${nextMs === null ? null : toMoment(nextMs)}::timestamptz, catch_up_to = null,
        updated_at = moment()
      where workspace_id = ${workspace_id} and id = ${id}
      returning *`,
  );

/** Stores the newest job of a schedule and the moment that it was created for, in milliseconds since 1970. Uses the primary key. */
export const storeLastRun = (db: Db, { workspace_id, id }: ScheduleKey, jobId: JobId, atMs: number): Promise<unknown> =>
  rows(
    db,
    sql`
      update schedule set last_job_id = ${jobId}, last_run_at = ${toMoment(atMs)}::timestamptz
      where workspace_id = ${workspace_id} and id = ${id}`,
  );

/** Uses index schedule_name. */
export const removeSchedule = (db: Db, workspaceId: WorkspaceId, name: string): Promise<ScheduleKey | null> =>
  row(db, sql`delete from schedule where workspace_id = ${workspaceId} and name = ${name} returning workspace_id, id`);

/** Deletes the schedules of a queue that the transaction deletes, and returns how many. Uses index schedule_lane. */
export const removeSchedulesOf = async (db: Db, { workspaceId, laneId }: LaneKey): Promise<number> =>
  (await rows(db, sql`delete from schedule where workspace_id = ${workspaceId} and lane_id = ${laneId} returning id`)).length;

/** Deletes all schedules of a workspace that is being deleted. Uses the primary key. */
export const removeSchedules = (db: Db, workspaceId: WorkspaceId): Promise<unknown> =>
  rows(db, sql`delete from schedule where workspace_id = ${workspaceId}`);
