import type { Module } from "#http";
import { type Clock, type Config, DeadlineLoop, type EmitEvent, fragment, PeriodicLoop, type Random, type Transactional } from "#kernel";
import { type Execution, executeNext } from "./execute.ts";
import { mountOperations, type OperationRoutes } from "./routes.ts";
import { deleteOldAcrossWorkspaces } from "./store.ts";

export interface OperationsOptions extends Omit<OperationRoutes, "onStarted">, Omit<Execution, "database"> {
  readonly config: Config;
  readonly housekeeping: Transactional;
  readonly clock: Clock;
  readonly emit: EmitEvent;
  readonly random: Random;
}

const HOUR_MS = 3_600_000;

/** Changes of many jobs at once: their routes, and the loop that executes them. Any node continues what another one left. */
export function createOperations({ tenants, ids, config, housekeeping, clock, emit, random, ...execution }: OperationsOptions): Module {
  const executing = { ...execution, database: housekeeping };
  // A pass is one portion, so that a node that stops does not wait for all of them.
  const pass = async () => ((await executeNext(executing)) ? 0 : undefined);
  const loop = new DeadlineLoop({ name: "execute-operations", horizonMs: config.pollEveryMs, pass }, clock, emit, random);
  const sweep = { name: "sweep-operations", everyMs: HOUR_MS, pass: () => deleteOldAcrossWorkspaces(housekeeping) };
  return {
    routes: (api) => mountOperations(api, { tenants, ids, audit: execution.audit, onStarted: () => loop.wake() }),
    services: [loop, new PeriodicLoop(sweep, emit, random)],
    due: [{ loop, nextDue: fragment`select turn_at from operation where state = 'running' order by turn_at limit 1` }],
  };
}
