import type { RouteOptions } from "fastify";
import { createApprovals } from "#approvals";
import { createAudit } from "#audit";
import { createCallbacks } from "#callbacks";
import { createDeadLetters } from "#dead-letters";
import { createExplain } from "#explain";
import { type Api, createApi, type Module } from "#http";
import { createJobs } from "#jobs";
import { systemRandom } from "#kernel";
import { createLive } from "#live";
import { createMetrics } from "#metrics";
import { createOperations } from "#operations";
import { createPeople } from "#people";
import { createQueues } from "#queues";
import { createSchedules } from "#schedules";
import { createStatus } from "#status";
import { createUsage } from "#usage";
import { createVault } from "#vault";
import { createWebhooks } from "#webhooks";
import { createWorkers } from "#workers";
import { createWorkflows } from "#workflows";
import { createWorkspaces } from "#workspaces";
import { mountPublic } from "../../src/app.ts";
import { mountNodes } from "../../src/engine/leases/node-routes.ts";

/** Replaces all dependencies of the modules. Mounting routes uses none of them. */
const anything = new Proxy((() => {}) as never, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => 1 : anything),
  apply: () => anything,
}) as never;

/** Every module with endpoints for tenants. */
const MODULES: Module[] = [
  createLive,
  createApprovals,
  createAudit,
  createCallbacks,
  createDeadLetters,
  createExplain,
  createJobs,
  createOperations,
  createMetrics,
  createPeople,
  createQueues,
  createSchedules,
  createStatus,
  createUsage,
  createVault,
  createWebhooks,
  createWorkers,
  createWorkflows,
  createWorkspaces,
].map((create): Module => create(anything));
MODULES.push({ operatorRoutes: (api) => mountNodes(api, anything) });

/** An API with the routes of all modules, but without a database and without a port. */
export async function bareApi(onRoute: (route: RouteOptions) => void = () => {}, options: { operatorPages?: boolean } = {}): Promise<Api> {
  const api = createApi({ authenticator: { findPrincipal: async () => null, operatorToken: null }, emit: () => {}, random: systemRandom });
  api.addHook("onRoute", onRoute);
  await mountPublic(api, MODULES, { database: anything, isReady: () => true }, options);
  await api.ready();
  return api;
}
