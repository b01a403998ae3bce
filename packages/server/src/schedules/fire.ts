import { setImmediate } from "node:timers/promises";
import type { AuditLog, NewAuditEvent } from "#audit";
import type { LaneKey } from "#dispatch";
import { type InsertRequest, insertJobsAcrossWorkspaces, type JobToInsert, MOST_WEIGHT, weightOf } from "#jobs";
import { type Db, type EmitEvent, type JobId, toMoment, type UuidSource } from "#kernel";
import { takeExecutions } from "#usage";
import type { Calendar, Calendars } from "./calendar.ts";
import { type Advance, type DueSchedule, findBusyAcrossWorkspaces, lockDue, takeTicksAcrossWorkspaces } from "./fire-store.ts";
import { planTicks, type TickPlan } from "./plan-ticks.ts";
import type { Schedule, ScheduleId } from "./schedule.ts";

/** What it takes to fire schedules. */
export interface Firing {
  readonly calendars: Calendars;
  readonly ids: UuidSource;
  readonly audit: AuditLog;
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

const NOTHING: Fired = { jobs: 0, lanes: [], nextMs: null };

/** Schedules that are planned in a row before others have their turn on the event loop. */
const PLANNED_IN_A_ROW = 25;

/**
 * Fires all that is due of one schedule, which the transaction then holds: before it changes, what was due runs as it was.
 * Source: contract §6.
 */
export async function fireDue(tx: Db, firing: Firing, schedule: Pick<Schedule, "workspace_id" | "id">): Promise<Fired> {
  let fired = NOTHING;
  for (let due = await lockDue(tx, schedule); due; due = await lockDue(tx, schedule)) {
    const { jobs, lanes, nextMs } = await fireLocked(tx, firing, [due]);
    fired = { jobs: fired.jobs + jobs, lanes: [...fired.lanes, ...lanes], nextMs };
  }
  return fired;
}

/**
 * Fires the due ticks of schedules that the transaction has locked: each makes one job, in this transaction or never (I7). A tick
 * that the month's quota has no execution for is skipped and audited.
 */
export async function fireLocked(tx: Db, firing: Firing, due: readonly DueSchedule[]): Promise<Fired> {
  const exclusive = due.filter(({ overlap }) => overlap === "skip");
  const busy = exclusive.length > 0 ? await findBusyAcrossWorkspaces(tx, exclusive) : new Set<ScheduleId>();
  const planned = await planAll(firing, due, busy);
  const refused = await takeQuota(tx, planned);
  const drafts = planned.map((one) => draft(one, refused, firing.ids));
  const fresh = new Set(
    (await takeTicksAcrossWorkspaces(tx, drafts.flatMap(ticksOf), drafts.map(advanceOf))).map(
      ({ scheduleId, atMs }) => `${scheduleId} ${atMs}`,
    ),
  );
  const requests = drafts.flatMap(({ schedule, jobs }) =>
    requestOf(
      schedule,
      jobs.filter(({ atMs }) => fresh.has(`${schedule.id} ${atMs}`)),
    ),
  );
  const inserted = requests.length > 0 ? await insertJobsAcrossWorkspaces(tx, null, requests) : [];
  await firing.audit.recordAll(tx, drafts.flatMap(tellRefused));
  const waiting = inserted.flatMap((jobs, index) =>
    jobs?.[0]?.state === "waiting" ? [{ workspaceId: (requests[index] as InsertRequest).workspaceId, laneId: jobs[0].laneId }] : [],
  );
  return {
    jobs: inserted.reduce((sum, jobs) => sum + (jobs?.length ?? 0), 0),
    lanes: waiting,
    nextMs: earliest(drafts.map(({ plan }) => plan.nextMs)),
  };
}

interface Planned {
  readonly schedule: DueSchedule;
  readonly plan: TickPlan;
}

/** What is to be written of one schedule. */
interface Draft extends Planned {
  readonly jobs: readonly { readonly id: JobId; readonly atMs: number }[];
  /** Ticks that found the quota used up. Milliseconds since 1970. */
  readonly refused: readonly number[];
}

/** Each schedule may run one tick; what is left of a statement's weight goes to those that have missed more. */
async function planAll(firing: Firing, due: readonly DueSchedule[], busy: ReadonlySet<ScheduleId>): Promise<Planned[]> {
  const planned: Planned[] = [];
  let spare = MOST_WEIGHT - due.reduce((sum, { payload }) => sum + weightOf(payload), 0);
  for (const [index, schedule] of due.entries()) {
    if (index % PLANNED_IN_A_ROW === PLANNED_IN_A_ROW - 1) await setImmediate();
    const { overlap, catch_up, due_ms, now_ms, payload } = schedule;
    const most = 1 + Math.max(0, Math.floor(spare / weightOf(payload)));
    const terms = { overlap, catchUp: catch_up, busy: busy.has(schedule.id), dueMs: due_ms, nowMs: now_ms, most };
    const calendar = calendarOf(firing, schedule);
    const plan = calendar ? planTicks(calendar, terms) : { run: [], skip: null, lastMs: due_ms, nextMs: null };
    spare -= Math.max(0, plan.run.length - 1) * weightOf(payload);
    planned.push({ schedule, plan });
  }
  return planned;
}

/** Null for what this program reads no more, a zone that was taken out say: it must not keep the others from firing. */
function calendarOf({ calendars, emit }: Firing, { workspace_id, name, cron, timezone }: DueSchedule): Calendar | null {
  try {
    return calendars.of(cron, timezone);
  } catch (error) {
    emit("schedule_unreadable", { workspaceId: workspace_id, schedule: name, cron, timezone, error });
    return null;
  }
}

/** Takes an execution for each tick that is to make a job. Answers those that the quota has none for. */
async function takeQuota(tx: Db, planned: readonly Planned[]): Promise<ReadonlySet<string>> {
  const wanted = planned.flatMap(({ schedule, plan }) => (schedule.limited ? plan.run.map((atMs) => ({ schedule, atMs })) : []));
  if (wanted.length === 0) return new Set();
  const demands = wanted.map(({ schedule }) => ({ workspaceId: schedule.workspace_id, executions: 1 }));
  const refusals = await takeExecutions(tx, demands);
  return new Set(wanted.filter((_, index) => refusals[index] !== null).map(({ schedule, atMs }) => `${schedule.id} ${atMs}`));
}

function draft({ schedule, plan }: Planned, refused: ReadonlySet<string>, ids: UuidSource): Draft {
  const isRefused = (atMs: number) => refused.has(`${schedule.id} ${atMs}`);
  return {
    schedule,
    plan,
    jobs: plan.run.filter((atMs) => !isRefused(atMs)).map((atMs) => ({ id: ids.next() as JobId, atMs })),
    refused: plan.run.filter(isRefused),
  };
}

const ticksOf = ({ schedule, jobs }: Draft) =>
  jobs.map(({ atMs }) => ({ workspaceId: schedule.workspace_id, scheduleId: schedule.id, atMs }));

function advanceOf({ schedule, plan, jobs, refused }: Draft): Advance {
  const newest = jobs.at(-1);
  const refusedMs = refused.at(-1);
  const skip = refusedMs !== undefined && refusedMs > (plan.skip?.atMs ?? 0) ? { atMs: refusedMs, reason: "quota" as const } : plan.skip;
  return {
    workspaceId: schedule.workspace_id,
    scheduleId: schedule.id,
    nextMs: plan.nextMs,
    lastTickMs: plan.lastMs,
    runMs: newest?.atMs ?? null,
    jobId: newest?.id ?? null,
    skipMs: skip?.atMs ?? null,
    skipReason: skip?.reason ?? null,
  };
}

function requestOf(schedule: DueSchedule, jobs: Draft["jobs"]): InsertRequest[] {
  if (jobs.length === 0) return [];
  return [{ workspaceId: schedule.workspace_id, queue: schedule.queue, jobs: jobs.map(({ id, atMs }) => jobOf(schedule, id, atMs)) }];
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
  tick: { schedule: schedule.name, atMs },
  straight: false,
});

/** The ticks that the quota refused, as the audit log has them: one event for those of one moment. Source: contract §6. */
function tellRefused({ schedule, refused }: Draft): NewAuditEvent[] {
  const [first, last] = [refused[0], refused.at(-1)];
  if (first === undefined || last === undefined) return [];
  return [
    {
      workspaceId: schedule.workspace_id,
      eventType: "schedule.skipped",
      actorId: "system",
      resourceType: "schedule",
      resourceId: schedule.name,
      input: null,
      output: { reason: "quota", ticks: refused.length, first: toMoment(first), last: toMoment(last) },
    },
  ];
}

const earliest = (moments: readonly (number | null)[]): number | null =>
  moments.reduce((first, ms) => (first === null || (ms !== null && ms < first) ? ms : first), null);
