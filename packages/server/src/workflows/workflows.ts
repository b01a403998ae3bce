import type { AuditLog } from "#audit";
import type { Module } from "#http";
import {
  type Clock,
  type EmitEvent,
  PeriodicLoop,
  type PersonId,
  type Random,
  type Shares,
  type Tenants,
  type Transactional,
  type UuidSource,
  type WorkspaceId,
} from "#kernel";
import type { Aborter, PulledWaker, Waker } from "#lanes";
import type { AddressGuard } from "#outbound";
import type { Schedules } from "#schedules";
import { mountEvents } from "./events/event-routes.ts";
import { recordSlowHooks } from "./hooks/hook-kind.ts";
import { mountInvoke } from "./invoke/invoke-routes.ts";
import { mountJournal } from "./journals/journal-routes.ts";
import { mountJournals } from "./journals/workflow-journals-routes.ts";
import { mountWorkflows } from "./routes.ts";
import type { RunKey } from "./runs/run.ts";
import { mountRuns } from "./runs/run-routes.ts";
import { mountSignals } from "./signals/signal-routes.ts";
import type { VerifyExecution, VerifyReport } from "./steps/report-steps.ts";
import { mountSteps } from "./steps/step-routes.ts";
import { StepWriter } from "./steps/step-writer.ts";
import { mountTriggers } from "./triggers/trigger-routes.ts";
import { Triggers } from "./triggers/triggers.ts";
import type { WaitingWorkers } from "./triggers/waiting-workers.ts";
import { FollowedRuns } from "./watch/followed-runs.ts";
import { mountRunEvents } from "./watch/routes.ts";

/** How often to look for slow hooks. Milliseconds. */
const SLOW_HOOKS_MS = 10_000;

export interface WorkflowsOptions {
  readonly writes: Transactional;
  readonly housekeeping: Transactional;
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly guard: AddressGuard;
  readonly shares: Shares;
  readonly emit: EmitEvent;
  readonly waker: Waker & PulledWaker;
  readonly aborter: Aborter;
  readonly verifyExecution: VerifyExecution;
  readonly verifyReport: VerifyReport;
  readonly waitingWorkers: WaitingWorkers;
  readonly schedules: Pick<Schedules, "expect" | "putForWorkflow">;
}

/** Workflows: their settings, their runs, and how these move. */
export interface Workflows extends Module {
  /** A run that is followed has changed. */
  runChanged(run: RunKey): void;
  /** Changes of runs may have been missed. */
  runsMayHaveChanged(): void;
  /** A key of the workspace was revoked, or something else about it changed: readers of streams are authenticated again. */
  workspaceChanged(workspaceId: WorkspaceId): void;
  /** Sessions or rights of a person have changed: their streams end. */
  personChanged(personId: PersonId): void;
  /** Ends the streams of events. */
  drain(): void;
}

export function createWorkflows({
  writes,
  housekeeping,
  tenants,
  audit,
  ids,
  clock,
  random,
  guard,
  shares,
  emit,
  waker,
  aborter,
  verifyExecution,
  verifyReport,
  waitingWorkers,
  schedules,
}: WorkflowsOptions): Workflows {
  const triggers = new Triggers({ db: writes, ids, backlog: shares.enqueueBacklog, emit, waitingWorkers });
  const steps = new StepWriter(writes);
  const followed = new FollowedRuns({ tenants, clock, shares });
  return {
    routes(api) {
      mountWorkflows(api, { tenants, audit, schedules, random, guard, waker, aborter, emit });
      mountTriggers(api, { triggers, clock, shares, waker });
      mountEvents(api, { tenants, ids, clock, shares, waker, verifyReport });
      mountJournal(api, { tenants, verifyExecution });
      mountSignals(api, { tenants, audit, shares, waker, verifyReport });
      mountJournals(api, { tenants, shares });
      mountInvoke(api, { tenants, ids, shares, waker, verifyReport });
      mountRuns(api, { tenants, audit, ids, shares, waker, aborter });
      mountSteps(api, { tenants, ids, waker, shares, verifyReport, steps });
      mountRunEvents(api, { tenants, followed });
    },
    runChanged: (run) => followed.changed(run),
    runsMayHaveChanged: () => followed.allChanged(),
    workspaceChanged: (workspaceId) => followed.workspaceChanged(workspaceId),
    personChanged: (personId) => followed.personChanged(personId),
    drain: () => followed.close(),
    services: [
      new PeriodicLoop({ name: "slow-hooks", everyMs: SLOW_HOOKS_MS, pass: () => recordSlowHooks(housekeeping, audit) }, emit, random),
    ],
  };
}
