import type { Module } from "#http";
import { type EmitEvent, PeriodicLoop, type Random, type Transactional } from "#kernel";
import { type Execution, executeNext } from "./execute.ts";
import { mountOperations, type OperationRoutes } from "./routes.ts";
import { deleteOldAcrossWorkspaces } from "./store.ts";

export interface OperationsOptions extends Omit<OperationRoutes, "onStarted">, Omit<Execution, "database"> {
  readonly housekeeping: Transactional;
  readonly emit: EmitEvent;
  readonly random: Random;
}

const LOOK_EVERY_MS = 5_000;
const HOUR_MS = 3_600_000;

/** Changes of many jobs at once: their routes, and the loop that executes them. Any node goes on with what another one left. */
export function createOperations({ tenants, ids, housekeeping, emit, random, ...execution }: OperationsOptions): Module {
  const executing = { ...execution, database: housekeeping };
  const pass = async () => ((await executeNext(executing)) ? 0 : undefined);
  const loop = new PeriodicLoop({ name: "execute-operations", everyMs: LOOK_EVERY_MS, pass }, emit, random);
  const sweep = { name: "sweep-operations", everyMs: HOUR_MS, pass: () => deleteOldAcrossWorkspaces(housekeeping) };
  return {
    routes: (api) => mountOperations(api, { tenants, ids, audit: execution.audit, onStarted: () => loop.wake() }),
    services: [loop, new PeriodicLoop(sweep, emit, random)],
  };
}
