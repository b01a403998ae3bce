import { deleteOldCircuitChangesAcrossWorkspaces } from "#circuits";
import type { Module } from "#http";
import { type EmitEvent, PeriodicLoop, type Random, type Transactional } from "#kernel";
import { mountDeploys } from "./deploy-routes.ts";
import { type MetricRoutes, mountMetrics } from "./routes.ts";
import { deleteOldDeploysAcrossWorkspaces } from "./store.ts";

const DAY_MS = 86_400_000;

export interface MetricsOptions extends MetricRoutes {
  readonly housekeeping: Transactional;
  readonly random: Random;
  readonly emit: EmitEvent;
}

/** What happened over time, and what changed during that time. */
export function createMetrics({ housekeeping, random, emit, ...routes }: MetricsOptions): Module {
  const forget = async () => {
    await deleteOldDeploysAcrossWorkspaces(housekeeping);
    await deleteOldCircuitChangesAcrossWorkspaces(housekeeping);
  };
  return {
    routes(api) {
      mountMetrics(api, routes);
      mountDeploys(api, routes);
    },
    services: [new PeriodicLoop({ name: "forget-changes", everyMs: DAY_MS, pass: forget }, emit, random)],
  };
}
