import type { AuditLog } from "#audit";
import type { Module } from "#http";
import type { Clock, Random, Shares, Tenants, UuidSource } from "#kernel";
import type { Aborter, PulledWaker, Waker } from "#lanes";
import type { AddressGuard } from "#outbound";
import { Calendars } from "#schedules";
import { mountEvents } from "./event-routes.ts";
import { mountJournal } from "./journal-routes.ts";
import type { ProveExecution } from "./report-steps.ts";
import { mountWorkflows } from "./routes.ts";
import { mountRuns } from "./run-routes.ts";
import { mountSignals } from "./signal-routes.ts";

export interface WorkflowsOptions {
  readonly tenants: Tenants;
  readonly audit: AuditLog;
  readonly ids: UuidSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly guard: AddressGuard;
  readonly shares: Shares;
  readonly waker: Waker & PulledWaker;
  readonly aborter: Aborter;
  readonly prove: ProveExecution;
  readonly onNextRun: (ms: number) => void;
}

/** Workflows: their settings, their runs, and how these move. */
export function createWorkflows({
  tenants,
  audit,
  ids,
  clock,
  random,
  guard,
  shares,
  waker,
  aborter,
  prove,
  onNextRun,
}: WorkflowsOptions): Module {
  const calendars = new Calendars();
  return {
    routes(api) {
      mountWorkflows(api, { tenants, audit, calendars, ids, clock, random, guard, waker, aborter, onNextRun });
      mountEvents(api, { tenants, ids, clock, shares, waker, prove });
      mountJournal(api, { tenants, prove });
      mountSignals(api, { tenants, audit, waker, prove });
      mountRuns(api, { tenants, audit, ids, waker, aborter, prove });
    },
  };
}
