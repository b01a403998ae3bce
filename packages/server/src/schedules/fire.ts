import { setImmediate } from "node:timers/promises";
import type { AuditLog } from "#audit";
import { insertJobsAcrossWorkspaces, MAX_WEIGHT, weightOf } from "#jobs";
import { type Clock, type Db, type EmitEvent, momentMs, type UuidSource } from "#kernel";
import type { LaneKey } from "#lanes";
import { takeExecutions } from "#usage";
import type { Calendars } from "./calendar.ts";
import { advanceOf, draft, type Planned, requestsOf, tickKey, ticksOf } from "./draft.ts";
import { type DueSchedule, findBusyAcrossWorkspaces, lockDue, takeTicksAcrossWorkspaces } from "./fire-store.ts";
import { planTicks, type TickPlan } from "./plan-ticks.ts";
import type { Schedule, ScheduleId } from "./schedule.ts";

/** What it takes to fire schedules. */
export interface Firing {
  readonly calendars: Calendars;
  readonly ids: UuidSource;
  readonly audit: AuditLog;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly emit: EmitEvent;
}

/** What came of due ticks, to be acted on after the transaction. */
export interface Fired {
  readonly jobs: number;
  /** Jobs wait in these lanes. */
  readonly lanes: readonly LaneKey[];
  /** When the next tick of any of the schedules is due. Milliseconds since 1970; null when there is none. */
  readonly nextMs: number | null;
}

/** Planning holds the event loop no longer than this before others have their turn, and a transaction no longer than that. */
const PLAN_IN_A_ROW_MS = 5;
const PLAN_MS = 250;
/** When a schedule is looked at again whose zone this node does not know. */
const UNREADABLE_MS = 3_600_000;

/**
 * Fires what is due of one schedule, which the transaction then holds: as much of it as one transaction writes.
 * Source: contract §6.
 */
export async function fireDue(tx: Db, firing: Firing, schedule: Pick<Schedule, "workspace_id" | "id">): Promise<Fired> {
  const due = await lockDue(tx, schedule);
  return due ? fireLocked(tx, firing, [due]) : { jobs: 0, lanes: [], nextMs: null };
}

/**
 * Fires the due ticks of schedules that the transaction has locked, or of the first of them, when all are more than it should write:
 * each makes one job, in this transaction or never (I7). A tick that the month's quota has no execution for is skipped and audited.
 */
export async function fireLocked(tx: Db, firing: Firing, due: readonly DueSchedule[]): Promise<Fired> {
  const exclusive = due.filter(({ overlap }) => overlap === "skip");
  const busy = exclusive.length > 0 ? await findBusyAcrossWorkspaces(tx, exclusive) : new Set<ScheduleId>();
  const planned = await planAll(firing, due, busy);
  const refused = await takeQuota(tx, planned);
  const drafts = planned.map((one) => draft(one, refused, firing.ids));
  const taken = await takeTicksAcrossWorkspaces(tx, drafts.flatMap(ticksOf), drafts.map(advanceOf));
  const fresh = new Set(taken.map((tick) => tickKey(tick, tick.atMs)));
  const requests = drafts.flatMap((one) => requestsOf(one, (key) => fresh.has(key)));
  const inserted = requests.length > 0 ? await insertJobsAcrossWorkspaces(tx, null, requests) : [];
  await firing.audit.recordAll(
    tx,
    drafts.flatMap(({ event }) => event ?? []),
  );
  return {
    jobs: inserted.reduce((sum, jobs) => sum + (jobs?.length ?? 0), 0),
    lanes: requests.flatMap(({ workspaceId }, index) => {
      const job = inserted[index]?.[0];
      return job?.state === "waiting" ? [{ workspaceId, laneId: job.laneId }] : [];
    }),
    nextMs: earliest(planned.map(({ plan }) => plan.nextMs)),
  };
}

/** Plans schedules in their order, until their jobs weigh what a statement writes or time is up; the first one in any case. */
async function planAll(firing: Firing, due: readonly DueSchedule[], busy: ReadonlySet<ScheduleId>): Promise<Planned[]> {
  const planned: Planned[] = [];
  const startMs = firing.clock.elapsedMs();
  let turnMs = startMs;
  let spare = MAX_WEIGHT;
  for (const schedule of due) {
    const nowMs = firing.clock.elapsedMs();
    const weight = weightOf(schedule.payload);
    if (planned.length > 0 && (spare < weight || nowMs - startMs > PLAN_MS)) break;
    if (nowMs - turnMs > PLAN_IN_A_ROW_MS) {
      await setImmediate();
      turnMs = firing.clock.elapsedMs();
    }
    const plan = planOf(firing, schedule, busy.has(schedule.id), Math.max(1, Math.floor(spare / weight)));
    spare -= plan.run.length * weight;
    planned.push({ schedule, plan });
  }
  return planned;
}

function planOf({ calendars, emit }: Firing, schedule: DueSchedule, busy: boolean, most: number): TickPlan {
  const { workspace_id, name, cron, timezone, overlap, catch_up, catch_up_to, due_ms: dueMs, now_ms: nowMs } = schedule;
  const catchUpToMs = catch_up_to === null ? null : momentMs(catch_up_to);
  try {
    const calendar = calendars.of(cron, timezone);
    return planTicks(calendar, { overlap, catchUp: catch_up, busy, dueMs, catchUpToMs, nowMs, most });
  } catch (error) {
    // Another node's ICU may know a zone that this one's does not. It must not keep the others from firing.
    emit("schedule_parse_failed", { workspaceId: workspace_id, schedule: name, cron, timezone, error });
    const skip = { atMs: dueMs, reason: "unreadable" } as const;
    return { run: [], skip, lastMs: null, nextMs: nowMs + UNREADABLE_MS, catchUpToMs: null };
  }
}

/** Takes an execution for each tick that is to make a job. Answers the keys of those that the quota has none for. */
async function takeQuota(tx: Db, planned: readonly Planned[]): Promise<ReadonlySet<string>> {
  const wanted = planned.flatMap(({ schedule, plan }) => (schedule.limited ? plan.run.map((atMs) => ({ schedule, atMs })) : []));
  if (wanted.length === 0) return new Set();
  const demands = wanted.map(({ schedule }) => ({ workspaceId: schedule.workspace_id, executions: 1 }));
  const refusals = await takeExecutions(tx, demands);
  return new Set(wanted.filter((_, index) => refusals[index] !== null).map(({ schedule, atMs }) => tickKey(schedule, atMs)));
}

const earliest = (moments: readonly (number | null)[]): number | null =>
  moments.reduce((first, ms) => (first === null || (ms !== null && ms < first) ? ms : first), null);
