import type { RecordKind } from "@tidemill/contract";
import type { Module } from "#http";
import { type Config, type Database, type Db, DeadlineLoop, fragment, type LockWaits, type Random, type ReportChange } from "#kernel";
import type { PulledWaker, Waker } from "#lanes";
import { Calendars } from "./calendar.ts";
import type { FireContext, FireResult } from "./fire.ts";
import { type Pattern, putScheduleOfWorkflow, type ScheduledWorkflow } from "./of-workflow.ts";
import { mountSchedules } from "./routes.ts";
import type { ScheduleRoutes } from "./send-schedule.ts";
import { ticksAcrossWorkspaces } from "./tick.ts";

export interface SchedulesOptions extends Omit<FireContext, "calendars" | "clock">, Pick<ScheduleRoutes, "tenants" | "clock"> {
  readonly config: Config;
  readonly engine: Database;
  readonly lockWaits: LockWaits;
  readonly random: Random;
  readonly report: ReportChange;
  readonly waker: Waker & PulledWaker;
  /** How many more jobs this node can deliver at once. */
  readonly room: () => number;
}

export interface Schedules extends Module {
  /** A schedule has its next tick at this time. Milliseconds since 1970. */
  expect(ms: number): void;
  /** Sets the schedule of a workflow, whose lane the transaction has locked (`putScheduleOfWorkflow`). */
  putForWorkflow(tx: Db, workflow: ScheduledWorkflow, pattern: Pattern | null): Promise<number | null>;
}

const FIRED: readonly RecordKind[] = ["schedules", "jobs", "queues", "approvals", "runs"];

/** Schedules: their endpoints, and the loop that creates a job, or starts a run, at each tick. */
export function createSchedules({
  config,
  shares,
  engine,
  lockWaits,
  random,
  waker,
  room,
  tenants,
  clock,
  ids,
  audit,
  emit,
  report,
  startRuns,
}: SchedulesOptions): Schedules {
  const context: FireContext = { calendars: new Calendars(), ids, audit, clock, emit, shares, startRuns };
  const onFired = ({ jobs, lanes, pulled, workflows, workspaceIds, nextMs }: FireResult) => {
    for (const workspaceId of workspaceIds) report(workspaceId, FIRED);
    emit("jobs_enqueued", { count: jobs });
    emit("schedule_jobs_made", { count: jobs });
    // When this node can deliver all of the jobs, the other nodes stay asleep: they would only compete for the same jobs.
    waker.wake(lanes, jobs > room() ? undefined : "node");
    if (pulled.length > 0) waker.wakePulled(pulled);
    if (workflows.length > 0) waker.wakeWorkflows(workflows);
    if (nextMs !== null) ticks.expect(nextMs);
  };
  const turns = ticksAcrossWorkspaces({ ...context, db: engine, lockWaits, onFired });
  const pass = () => turns.round();
  const ticks: DeadlineLoop = new DeadlineLoop({ name: "schedules", horizonMs: config.pollEveryMs, pass }, clock, emit, random);
  return {
    routes: (api) => mountSchedules(api, { tenants, clock, context: { ...context, onFired }, onNextRun: (ms) => ticks.expect(ms) }),
    expect: (ms) => ticks.expect(ms),
    putForWorkflow: (tx, workflow, pattern) => putScheduleOfWorkflow(tx, context, workflow, pattern, clock.nowMs()),
    services: [turns, ticks],
    due: [
      {
        loop: ticks,
        nextDue: fragment`select next_run_at from schedule where not paused and next_run_at is not null order by next_run_at limit 1`,
      },
    ],
  };
}
