import type { NewAuditEvent } from "#audit";
import type { InsertRequest, JobToInsert } from "#jobs";
import { type JobId, momentMs, toMoment, type UuidSource } from "#kernel";
import type { Advance, DueSchedule, TakenTick } from "./fire-store.ts";
import type { TickPlan } from "./plan-ticks.ts";
import type { Schedule } from "./schedule.ts";

/** A schedule whose due ticks are decided on. */
export interface Planned {
  readonly schedule: DueSchedule;
  readonly plan: TickPlan;
}

/** What is to be written of one schedule. */
export interface Draft extends Planned {
  readonly jobs: readonly { readonly id: JobId; readonly atMs: number }[];
  /** Ticks that the quota refused, that no audit event has told of; the first one's moment; and when the last event told of some. */
  readonly untold: { readonly skips: number; readonly sinceMs: number | null; readonly reportedMs: number | null };
  readonly event: NewAuditEvent | null;
  readonly refusedMs: number | null;
}

/** The first refused tick is told at once, those after it together, an hour later at the soonest or when one runs again. */
const TELL_EVERY_MS = 3_600_000;

/** What names a tick. */
export const tickKey = ({ id }: Pick<Schedule, "id">, atMs: number): string => `${id} ${atMs}`;

/** @param refused keys of the ticks that the quota has no execution for */
export function draft({ schedule, plan }: Planned, refused: ReadonlySet<string>, ids: UuidSource): Draft {
  const isRefused = (atMs: number) => refused.has(tickKey(schedule, atMs));
  const jobs = plan.run.filter((atMs) => !isRefused(atMs)).map((atMs) => ({ id: ids.next() as JobId, atMs }));
  const without = plan.run.filter(isRefused);
  return { schedule, plan, jobs, refusedMs: without.at(-1) ?? null, ...told(schedule, without, jobs.length > 0) };
}

export const ticksOf = ({ schedule, jobs }: Draft): TakenTick[] =>
  jobs.map(({ atMs }) => ({ workspaceId: schedule.workspace_id, scheduleId: schedule.id, atMs }));

export function advanceOf({ schedule, plan, jobs, refusedMs, untold }: Draft): Advance {
  const newest = jobs.at(-1);
  const skip = refusedMs !== null && refusedMs > (plan.skip?.atMs ?? 0) ? { atMs: refusedMs, reason: "quota" as const } : plan.skip;
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
    unreportedSkips: untold.skips,
    unreportedSinceMs: untold.sinceMs,
    reportedMs: untold.reportedMs,
  };
}

/** The jobs of the ticks that are fresh, if any. */
export function requestsOf({ schedule, jobs }: Draft, isFresh: (key: string) => boolean): InsertRequest[] {
  const fresh = jobs.filter(({ atMs }) => isFresh(tickKey(schedule, atMs)));
  if (fresh.length === 0) return [];
  return [{ workspaceId: schedule.workspace_id, queue: schedule.queue, jobs: fresh.map(({ id, atMs }) => jobOf(schedule, id, atMs)) }];
}

/** The job that a schedule makes for a moment: milliseconds since 1970. */
export const jobOf = (schedule: Schedule, id: JobId, atMs: number): JobToInsert => ({
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
  tick: { schedule: schedule.name, atMs },
  straight: false,
});

/** What the audit log is told of refused ticks, and what is left to tell. Source: contract §6. */
function told(schedule: DueSchedule, refused: readonly number[], ran: boolean): Pick<Draft, "untold" | "event"> {
  const { unreported_skips, unreported_since, reported_at, now_ms } = schedule;
  const skips = unreported_skips + refused.length;
  const sinceMs = unreported_since === null ? (refused[0] ?? null) : momentMs(unreported_since);
  const reportedMs = reported_at === null ? null : momentMs(reported_at);
  if (skips === 0 || sinceMs === null) return { untold: { skips: 0, sinceMs: null, reportedMs: ran ? null : reportedMs }, event: null };
  if (!ran && reportedMs !== null && now_ms - reportedMs < TELL_EVERY_MS) return { untold: { skips, sinceMs, reportedMs }, event: null };
  const lastMs = refused.at(-1) ?? (schedule.last_skip_at === null ? sinceMs : momentMs(schedule.last_skip_at));
  return {
    untold: { skips: 0, sinceMs: null, reportedMs: refused.length > 0 ? now_ms : null },
    event: {
      workspaceId: schedule.workspace_id,
      eventType: "schedule.skipped",
      actorId: "system",
      resourceType: "schedule",
      resourceId: schedule.name,
      input: null,
      output: { reason: "quota", ticks: skips, first: toMoment(sinceMs), last: toMoment(lastMs) },
    },
  };
}
