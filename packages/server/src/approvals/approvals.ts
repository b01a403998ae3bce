import type { Module } from "#http";
import { type Clock, type Config, type Database, DeadlineLoop, fragment, type LockWaits, type Random, type ReportChange } from "#kernel";
import { decisionsAcrossWorkspaces } from "./decide-overdue.ts";
import { type ApprovalRoutes, mountApprovals } from "./routes.ts";

export interface ApprovalsOptions extends ApprovalRoutes {
  readonly config: Config;
  readonly engine: Database;
  readonly lockWaits: LockWaits;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: ReportChange;
}

/** Approvals: their endpoints, and the loop that decides jobs whose approval timed out. */
export function createApprovals({ config, engine, lockWaits, clock, random, report, ...routes }: ApprovalsOptions): Module {
  const { audit, emit, waker } = routes;
  const turns = decisionsAcrossWorkspaces({ db: engine, audit, clock, lockWaits, emit, waker, report });
  const pass = () => turns.round();
  const timeouts = new DeadlineLoop({ name: "approvals", horizonMs: config.pollEveryMs, pass }, clock, emit, random);
  return {
    routes: (api) => mountApprovals(api, routes),
    services: [turns, timeouts],
    due: [
      {
        loop: timeouts,
        nextDue: fragment`
          select decide_at from job where state = 'pending_approval' and decide_at is not null order by state, decide_at limit 1`,
      },
    ],
  };
}
