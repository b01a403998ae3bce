import type { AuditLog } from "#audit";
import type { Module } from "#http";
import type { Clock, Shares, Tenants, UuidSource, WorkspaceId } from "#kernel";
import type { Aborter, PulledWaker, Waker } from "#lanes";
import { Calendars } from "#schedules";
import { mountEvents } from "./event-routes.ts";
import type { ProveExecution } from "./report-steps.ts";
import { mountWorkflows } from "./routes.ts";
import type { RunKey } from "./run.ts";
import { mountRuns } from "./run-routes.ts";
import { mountSignals } from "./signal-routes.ts";
import { FollowedRuns } from "./watch/followed-runs.ts";
import { mountRunEvents } from "./watch/routes.ts";

export interface WorkflowsOptions {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
  readonly clock: Clock;
  readonly shares: Shares;
  readonly waker: Waker & PulledWaker;
  readonly aborter: Aborter;
  readonly prove: ProveExecution;
  readonly onNextRun: (ms: number) => void;
}

/** Workflows: their settings, their runs, and how these move. */
export interface Workflows extends Module {
  /** A run that is followed has changed. */
  runChanged(run: RunKey): void;
  /** Changes of runs may have been missed. */
  runsMayHaveChanged(): void;
  /** A key of the workspace was revoked, or something else about it changed: streams end, since theirs may be that key. */
  workspaceChanged(workspaceId: WorkspaceId): void;
  /** Ends the streams of events. */
  drain(): void;
}

export function createWorkflows({ tenants, audit, ids, clock, shares, waker, aborter, prove, onNextRun }: WorkflowsOptions): Workflows {
  const calendars = new Calendars();
  const followed = new FollowedRuns({ tenants, clock, shares });
  return {
    routes(api) {
      mountWorkflows(api, { tenants, audit, calendars, ids, clock, waker, aborter, onNextRun });
      mountEvents(api, { tenants, ids, clock, shares, waker, prove });
      mountSignals(api, { tenants, audit, waker, prove });
      mountRuns(api, { tenants, audit, ids, waker, aborter, prove });
      mountRunEvents(api, { tenants, followed });
    },
    runChanged: (run) => followed.changed(run),
    runsMayHaveChanged: () => followed.allChanged(),
    workspaceChanged: (workspaceId) => followed.endOf(workspaceId),
    drain: () => followed.close(),
  };
}
