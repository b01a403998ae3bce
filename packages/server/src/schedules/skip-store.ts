import type { SkipReason } from "@tidemill/contract";
import { type Db, plainArray, rows, sql, type Timestamp, textArray, toMoment, type WorkspaceId } from "#kernel";
import type { ScheduleId } from "./schedule.ts";

/** How many rows of skipped ticks a schedule keeps. */
export const MAX_SKIPS = 100;

/** Consecutive ticks that created no job, for the same reason. Moments are milliseconds since 1970. */
export interface SkippedTicks {
  readonly workspaceId: WorkspaceId;
  readonly scheduleId: ScheduleId;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly reason: SkipReason;
  /** Whether these ticks continue those of the schedule's newest row. */
  readonly goesOn: boolean;
}

/**
 * Records skipped ticks, and deletes all but the newest rows of their schedules, which the transaction has locked. Uses the primary key.
 */
export const recordSkipsAcrossWorkspaces = (tx: Db, skips: readonly SkippedTicks[]): Promise<unknown> =>
  rows(
    tx,
    sql`
      with skipped as (
        select * from unnest(${plainArray(skips.map(({ workspaceId }) => workspaceId))}::uuid[],
          ${plainArray(skips.map(({ scheduleId }) => scheduleId))}::bigint[],
          ${textArray(skips.map(({ firstMs }) => toMoment(firstMs)))}::timestamptz[], ${textArray(skips.map(({ lastMs }) => toMoment(lastMs)))}::timestamptz[],
          ${textArray(skips.map(({ reason }) => reason))}::text[], ${plainArray(skips.map(({ goesOn }) => goesOn))}::boolean[])
          as k (workspace_id, schedule_id, first_at, last_at, reason, goes_on)
      ), newest as (
        select k.*, s.first_at as since from skipped k cross join lateral (
          select first_at from schedule_skip where workspace_id = k.workspace_id and schedule_id = k.schedule_id order by first_at desc limit 1) s
        where k.goes_on
      ), extended as (
        update schedule_skip s set last_at = n.last_at from newest n
        where s.workspace_id = any(array[n.workspace_id]) and s.schedule_id = n.schedule_id and s.first_at = n.since
      ), forgotten as (
        delete from schedule_skip s using skipped k
        where s.workspace_id = any(array[k.workspace_id]) and s.schedule_id = k.schedule_id and not k.goes_on and s.first_at <= (
          select first_at from schedule_skip x where x.workspace_id = k.workspace_id and x.schedule_id = k.schedule_id
          order by first_at desc offset ${MAX_SKIPS - 1} limit 1)
      )
      insert into schedule_skip (workspace_id, schedule_id, first_at, last_at, reason)
      select workspace_id, schedule_id, first_at, last_at, reason from skipped k
      where not exists (select from newest n where n.workspace_id = k.workspace_id and n.schedule_id = k.schedule_id and n.first_at = k.first_at)
      on conflict (workspace_id, schedule_id, first_at) do update set last_at = excluded.last_at, reason = excluded.reason`,
  );

export interface SkipRow {
  readonly first: Timestamp;
  readonly last: Timestamp;
  readonly reason: SkipReason;
}

/** The skipped ticks of a schedule, newest first. Uses the primary key. */
export const listSkips = (db: Db, workspaceId: WorkspaceId, scheduleId: ScheduleId, limit: number): Promise<SkipRow[]> =>
  rows(
    db,
    sql`
      select first_at as first, last_at as last, reason from schedule_skip
      where workspace_id = ${workspaceId} and schedule_id = ${scheduleId} order by first_at desc limit ${limit}`,
  );
