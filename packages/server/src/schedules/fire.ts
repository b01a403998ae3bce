import { setImmediate } from "node:timers/promises";
import type { AuditLog } from "#audit";
import { type InsertedJob, insertJobsAcrossWorkspaces, MAX_WEIGHT, weightOf } from "#jobs";
import { type Clock, type Db, type EmitEvent, momentMs, type Shares, type UuidSource, type WorkspaceId } from "#kernel";
import type { LaneKey, LaneService } from "#lanes";
import { takeExecutions } from "#usage";
import { announceSkips } from "./announce-skips.ts";
import type { Calendars } from "./calendar.ts";
import { type DueSchedule, findBusyAcrossWorkspaces, lockDue, takeTicksAcrossWorkspaces } from "./fire-store.ts";
import { planTicks, type TickPlan } from "./plan-ticks.ts";
import { advanceOf, type PlannedSchedule, prepareWrites, requestsOf, runsOf, skipsOf, tickKey, ticksOf } from "./prepare-writes.ts";
import type { Schedule, ScheduledRun, ScheduleId } from "./schedule.ts";
import { recordSkipsAcrossWorkspaces } from "./skip-store.ts";

/** What firing schedules needs. */
export interface FireContext {
  readonly shares: Pick<Shares, "loopTime">;
  readonly calendars: Calendars;
  readonly ids: UuidSource;
  readonly audit: AuditLog;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly emit: EmitEvent;
  /** Starts the runs of workflows' ticks, in the transaction that takes these ticks and their executions. */
  readonly startRuns: (tx: Db, runs: readonly ScheduledRun[]) => Promise<void>;
}

/** What due ticks created. The caller acts on it after the commit. */
export interface FireResult {
  /** How many jobs were created. */
  readonly jobs: number;
  /** The lanes in which new jobs wait for nodes. */
  readonly lanes: readonly LaneKey[];
  /** The lanes in which new jobs wait for workers. */
  readonly pulled: readonly LaneKey[];
  /** The lanes of workflows in which new runs wait. */
  readonly workflows: readonly LaneKey[];
  /** The workspaces whose schedules fired, or skipped a tick. */
  readonly workspaceIds: readonly WorkspaceId[];
  /** The earliest next tick of the schedules. Milliseconds since 1970; null when none has a next tick. */
  readonly nextMs: number | null;
}

/** Planning yields to the event loop after the first time, and stops after the second, so that the transaction does not stay open. */
const YIELD_AFTER_MS = 5;
const MAX_PLAN_MS = 250;
/** When a node that does not know a schedule's time zone tries again. */
const UNREADABLE_MS = 3_600_000;

/**
 * Fires due ticks of one schedule, as many as one transaction should write. The schedule stays locked until the transaction ends.
 * Source: contract §6.
 */
export async function fireSchedule(tx: Db, context: FireContext, schedule: Pick<Schedule, "workspace_id" | "id">): Promise<FireResult> {
  const due = await lockDue(tx, schedule);
  return due ? fireSchedules(tx, context, [due]) : { jobs: 0, lanes: [], pulled: [], workflows: [], workspaceIds: [], nextMs: null };
}

/**
 * Fires due ticks of schedules that the transaction has locked, in their order, as many as it should write. Each tick creates one job or run,
 * in this transaction or never (I7). A tick that the month's quota refuses is skipped and audited.
 */
export async function fireSchedules(tx: Db, context: FireContext, due: readonly DueSchedule[]): Promise<FireResult> {
  const exclusive = due.filter(({ overlap }) => overlap === "skip");
  const busy = exclusive.length > 0 ? await findBusyAcrossWorkspaces(tx, exclusive) : new Set<ScheduleId>();
  const planned = await planAll(context, due, busy);
  const refused = await takeQuota(tx, planned);
  const writes = planned.map((schedule) => prepareWrites(schedule, refused, context.ids));
  const ticks = await takeTicksAcrossWorkspaces(tx, writes.flatMap(ticksOf), writes.map(advanceOf));
  const taken = new Set(ticks.map((tick) => tickKey(tick, tick.atMs)));
  const isTaken = (key: string) => taken.has(key);
  const skips = writes.flatMap(skipsOf);
  if (skips.length > 0) await recordSkipsAcrossWorkspaces(tx, skips);
  const requests = writes.flatMap((of) => requestsOf(of, isTaken));
  const runs = writes.flatMap((of) => runsOf(of, isTaken));
  const inserted = requests.length > 0 ? await insertJobsAcrossWorkspaces(tx, null, requests) : [];
  await context.startRuns(tx, runs);
  await context.audit.recordAll(
    tx,
    writes.flatMap(({ event }) => event ?? []),
  );
  await announceSkips(tx, writes);
  return {
    jobs: inserted.reduce((sum, jobs) => sum + (jobs?.length ?? 0), 0),
    lanes: requests.flatMap(({ workspaceId }, index) => lanesToWake(workspaceId, inserted[index]?.[0], "push")),
    pulled: requests.flatMap(({ workspaceId }, index) => lanesToWake(workspaceId, inserted[index]?.[0], "pull")),
    workflows: [...new Map(runs.map(({ workspaceId, laneId }) => [laneId, { workspaceId, laneId }])).values()],
    workspaceIds: [...new Set(planned.map(({ schedule }) => schedule.workspace_id))],
    nextMs: earliest(planned.map(({ plan }) => plan.nextMs)),
  };
}

/** The lane of a job that waits, if it is served in this way. */
export const lanesToWake = (workspaceId: WorkspaceId, job: InsertedJob | undefined, served: LaneService): LaneKey[] =>
  job?.state === "waiting" && job.served === served ? [{ workspaceId, laneId: job.laneId }] : [];

/** Plans schedules in their order, until their jobs reach the weight of one statement or the time is up; always at least one. */
async function planAll(context: FireContext, due: readonly DueSchedule[], busy: ReadonlySet<ScheduleId>): Promise<PlannedSchedule[]> {
  const planned: PlannedSchedule[] = [];
  const startMs = context.clock.elapsedMs();
  let yieldedMs = startMs;
  let spare = MAX_WEIGHT;
  for (const schedule of due) {
    const nowMs = context.clock.elapsedMs();
    const weight = weightOf(schedule.payload);
    if (planned.length > 0 && (spare < weight || nowMs - startMs > MAX_PLAN_MS)) break;
    if (nowMs - yieldedMs > YIELD_AFTER_MS) {
      await setImmediate();
      yieldedMs = context.clock.elapsedMs();
    }
    const plan = planOf(context, schedule, busy.has(schedule.id), Math.max(1, Math.floor(spare / weight)));
    spare -= plan.run.length * weight;
    planned.push({ schedule, plan });
  }
  return planned;
}

function planOf({ calendars, emit }: FireContext, schedule: DueSchedule, busy: boolean, limit: number): TickPlan {
  const { workspace_id, name, cron, timezone, overlap, catch_up, catch_up_to, due_ms: dueMs, now_ms: nowMs } = schedule;
  const catchUpToMs = catch_up_to === null ? null : momentMs(catch_up_to);
  try {
    const calendar = calendars.of(cron, timezone);
    return planTicks(calendar, { overlap, catchUp: catch_up, busy, dueMs, catchUpToMs, nowMs, limit });
  } catch (error) {
    // This node's ICU may lack a zone that another node's ICU has. This schedule must not keep the others from firing.
    emit("schedule_parse_failed", { workspaceId: workspace_id, schedule: name, cron, timezone, error });
    const skip = { firstMs: dueMs, atMs: dueMs, reason: "unreadable" } as const;
    return { run: [], skip, lastMs: null, nextMs: nowMs + UNREADABLE_MS, catchUpToMs: null };
  }
}

/** Takes an execution for each tick that is to create a job. Returns the keys of those that the quota refuses. */
async function takeQuota(tx: Db, planned: readonly PlannedSchedule[]): Promise<ReadonlySet<string>> {
  const wanted = planned.flatMap(({ schedule, plan }) => (schedule.limited ? plan.run.map((atMs) => ({ schedule, atMs })) : []));
  if (wanted.length === 0) return new Set();
  const demands = wanted.map(({ schedule }) => ({ workspaceId: schedule.workspace_id, executions: 1 }));
  const refusals = await takeExecutions(tx, demands);
  return new Set(wanted.filter((_, index) => refusals[index] !== null).map(({ schedule, atMs }) => tickKey(schedule, atMs)));
}

const earliest = (moments: readonly (number | null)[]): number | null =>
  moments.reduce((first, ms) => (first === null || (ms !== null && ms < first) ? ms : first), null);
