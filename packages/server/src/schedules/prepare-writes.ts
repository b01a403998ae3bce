import type { NewAuditEvent } from "#audit";
import type { InsertRequest, JobToInsert } from "#jobs";
import { type JobId, momentMs, type RunId, toMoment, type UuidSource } from "#kernel";
import type { Advance, DueSchedule, TickToTake } from "./fire-store.ts";
import type { TickPlan } from "./plan-ticks.ts";
import type { Schedule, ScheduledRun } from "./schedule.ts";
import type { SkippedTicks } from "./skip-store.ts";

/** A schedule with the plan for its due ticks. */
export interface PlannedSchedule {
  readonly schedule: DueSchedule;
  readonly plan: TickPlan;
}

/** What one schedule's due ticks will write. */
export interface ScheduleWrites extends PlannedSchedule {
  readonly jobs: readonly { readonly id: JobId; readonly atMs: number }[];
  /** Ticks that the quota refused and no audit event contains yet, the moment of the first one, and when the last such event was recorded. */
  readonly unreported: { readonly skips: number; readonly sinceMs: number | null; readonly reportedMs: number | null };
  readonly event: NewAuditEvent | null;
  /** The first and the last tick that the quota refused. */
  readonly refused: { readonly firstMs: number; readonly lastMs: number } | null;
}

/**
 * The first refused tick is reported immediately. Later ones are reported together: when a tick runs again, or when one more is refused and
 * the last report is at least an hour old.
 */
const REPORT_EVERY_MS = 3_600_000;

/** Identifies a tick among those of one transaction. */
export const tickKey = ({ id }: Pick<Schedule, "id">, atMs: number): string => `${id} ${atMs}`;

/** @param refused keys of the ticks that the quota refused */
export function prepareWrites({ schedule, plan }: PlannedSchedule, refused: ReadonlySet<string>, ids: UuidSource): ScheduleWrites {
  const isRefused = (atMs: number) => refused.has(tickKey(schedule, atMs));
  const jobs = plan.run.filter((atMs) => !isRefused(atMs)).map((atMs) => ({ id: ids.next() as JobId, atMs }));
  const refusedTicks = plan.run.filter(isRefused);
  const [firstMs, lastMs] = [refusedTicks[0], refusedTicks.at(-1)];
  const between = firstMs === undefined || lastMs === undefined ? null : { firstMs, lastMs };
  return { schedule, plan, jobs, refused: between, ...reportSkips(schedule, refusedTicks, jobs.length > 0) };
}

export const ticksOf = ({ schedule, jobs }: ScheduleWrites): TickToTake[] =>
  jobs.map(({ atMs }) => ({ workspaceId: schedule.workspace_id, scheduleId: schedule.id, atMs }));

/** The skipped ticks to record. They continue the newest recorded ones if nothing ran and nothing was changed in between. */
export function skipsOf({ schedule, plan, jobs, refused }: ScheduleWrites): SkippedTicks[] {
  const { workspace_id: workspaceId, id: scheduleId, last_skip_at, last_skip_reason, last_run_at, updated_at } = schedule;
  const skippedMs = last_skip_at === null ? null : momentMs(last_skip_at);
  const isNewest = skippedMs !== null && momentMs(updated_at) < skippedMs && (last_run_at === null || momentMs(last_run_at) < skippedMs);
  const skips = [
    ...(plan.skip ? [{ firstMs: plan.skip.firstMs, lastMs: plan.skip.atMs, reason: plan.skip.reason }] : []),
    ...(refused ? [{ ...refused, reason: "quota" as const }] : []),
  ];
  return skips.map((skip, at) => {
    const goesOn = isNewest && at === 0 && skip.reason === last_skip_reason && !jobs.some(({ atMs }) => atMs < skip.firstMs);
    return { workspaceId, scheduleId, ...skip, goesOn };
  });
}

export function advanceOf({ schedule, plan, jobs, refused, unreported }: ScheduleWrites): Advance {
  const newest = jobs.at(-1);
  const skip = refused !== null && refused.lastMs > (plan.skip?.atMs ?? 0) ? { atMs: refused.lastMs, reason: "quota" as const } : plan.skip;
  return {
    workspaceId: schedule.workspace_id,
    scheduleId: schedule.id,
    nextMs: plan.nextMs,
    lastTickMs: plan.lastMs,
    catchUpToMs: plan.catchUpToMs,
    runMs: newest?.atMs ?? null,
    jobId: newest?.id ?? null,
    skipMs: skip?.atMs ?? null,
    skipReason: skip?.reason ?? null,
    unreportedSkips: unreported.skips,
    unreportedSinceMs: unreported.sinceMs,
    reportedMs: unreported.reportedMs,
  };
}

/** The runs of those ticks of a workflow that this transaction has taken. */
export function runsOf({ schedule, jobs }: ScheduleWrites, isTaken: (key: string) => boolean): ScheduledRun[] {
  if (schedule.lane_kind !== "workflow") return [];
  const { workspace_id: workspaceId, lane_id: laneId, lane_attempts: attempts, lane_backoff_delay_ms: backoffDelayMs } = schedule;
  const taken = jobs.filter(({ atMs }) => isTaken(tickKey(schedule, atMs)));
  return taken.map(({ id, atMs }) => ({ workspaceId, laneId, id: id as string as RunId, attempts, backoffDelayMs, atMs }));
}

/** The jobs of those ticks of a queue that this transaction has taken; no request when there are none. */
export function requestsOf({ schedule, jobs }: ScheduleWrites, isTaken: (key: string) => boolean): InsertRequest[] {
  if (schedule.lane_kind !== "queue") return [];
  const taken = jobs.filter(({ atMs }) => isTaken(tickKey(schedule, atMs)));
  if (taken.length === 0) return [];
  return [
    { workspaceId: schedule.workspace_id, queue: schedule.queue, jobs: taken.map(({ id, atMs }) => scheduledJob(schedule, id, atMs)) },
  ];
}

/** The job of a schedule for a moment: milliseconds since 1970. */
export const scheduledJob = (schedule: Schedule, id: JobId, atMs: number): JobToInsert => ({
  id,
  payload: schedule.payload,
  delaySeconds: 0,
  runAtMs: null,
  tag: schedule.tag,
  priority: schedule.priority,
  concurrencyKey: schedule.concurrency_key,
  attempts: schedule.attempts,
  backoffDelayMs: null,
  idempotency: null,
  trace: null,
  tick: { schedule: schedule.name, atMs },
  eager: false,
});

/** The audit event about refused ticks, if one is to be recorded now, and what stays unreported. Source: contract §6. */
function reportSkips(schedule: DueSchedule, refused: readonly number[], ran: boolean): Pick<ScheduleWrites, "unreported" | "event"> {
  const { unreported_skips, unreported_since, reported_at, now_ms } = schedule;
  const skips = unreported_skips + refused.length;
  const sinceMs = unreported_since === null ? (refused[0] ?? null) : momentMs(unreported_since);
  const reportedMs = reported_at === null ? null : momentMs(reported_at);
  if (skips === 0 || sinceMs === null) return { unreported: { skips: 0, sinceMs: null, reportedMs: ran ? null : reportedMs }, event: null };
  if (!ran && reportedMs !== null && now_ms - reportedMs < REPORT_EVERY_MS)
    return { unreported: { skips, sinceMs, reportedMs }, event: null };
  const lastMs = refused.at(-1) ?? (schedule.last_skip_at === null ? sinceMs : momentMs(schedule.last_skip_at));
  return {
    unreported: { skips: 0, sinceMs: null, reportedMs: refused.length > 0 ? now_ms : null },
    event: {
      workspaceId: schedule.workspace_id,
      eventType: "schedule.skipped",
      actorId: "system",
      ...(schedule.lane_kind === "workflow"
        ? { resourceType: "workflow", resourceId: schedule.queue }
        : { resourceType: "schedule", resourceId: schedule.name }),
      input: null,
      output: { reason: "quota", ticks: skips, first: toMoment(sinceMs), last: toMoment(lastMs) },
    },
  };
}
