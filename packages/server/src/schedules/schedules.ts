import type { Module } from "#http";
import { type Config, type Database, DeadlineLoop, fragment, type Random } from "#kernel";
import type { Waker } from "#lanes";
import type { ScheduleRoutes } from "./answer.ts";
import { Calendars } from "./calendar.ts";
import type { Fired, Firing } from "./fire.ts";
import { mountSchedules } from "./routes.ts";
import { tickAcrossWorkspaces } from "./tick.ts";

export interface SchedulesOptions extends Omit<Firing, "calendars" | "clock">, Pick<ScheduleRoutes, "tenants" | "clock"> {
  readonly config: Config;
  readonly engine: Database;
  readonly random: Random;
  readonly waker: Waker;
  /** Jobs that this node has room for. */
  readonly room: () => number;
}

/** Schedules: their endpoints, and the ticks that make their jobs. */
export function createSchedules({ config, engine, random, waker, room, tenants, clock, ids, audit, emit }: SchedulesOptions): Module {
  const firing: Firing = { calendars: new Calendars(), ids, audit, clock, emit };
  const onFired = ({ jobs, lanes, nextMs }: Fired) => {
    emit("jobs_enqueued", { count: jobs });
    emit("schedule_jobs_made", { count: jobs });
    // Other nodes would race for what this node delivers as well alone.
    waker.wake(lanes, jobs > room() ? undefined : "node");
    if (nextMs !== null) ticks.expect(nextMs);
  };
  const pass = () => tickAcrossWorkspaces({ ...firing, db: engine, onFired });
  const ticks: DeadlineLoop = new DeadlineLoop({ name: "schedules", horizonMs: config.pollEveryMs, pass }, clock, emit, random);
  return {
    routes: (api) => mountSchedules(api, { tenants, clock, firing, onFired, onNextRun: (ms) => ticks.expect(ms) }),
    services: [ticks],
    due: [
      {
        loop: ticks,
        nextDue: fragment`select next_run_at from schedule where not paused and next_run_at is not null order by next_run_at limit 1`,
      },
    ],
  };
}
