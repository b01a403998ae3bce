import type { Module } from "#http";
import { type Clock, type Database, type EmitEvent, PeriodicLoop, type Random, type Tenants, type Transactional } from "#kernel";
import { deleteOldUsageAcrossWorkspaces, foldUsageAcrossWorkspaces } from "./fold.ts";
import { RequestRate } from "./request-rate.ts";
import { mountUsage } from "./routes.ts";

const FOLD_MS = 5_000;
const DAY_MS = 86_400_000;

export interface UsageOptions {
  readonly api: Database;
  readonly housekeeping: Transactional;
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: EmitEvent;
}

/** The module for usage: executions of the month, and the rate limit of requests. */
export function createUsage({
  api,
  housekeeping,
  tenants,
  clock,
  random,
  emit,
}: UsageOptions): Module & { readonly rateLimiter: RequestRate } {
  const loop = (name: string, everyMs: number, pass: () => Promise<unknown>) => new PeriodicLoop({ name, everyMs, pass }, emit, random);
  return {
    rateLimiter: new RequestRate({ db: api, clock, emit }),
    routes: (listener) => mountUsage(listener, { tenants }),
    services: [
      loop("fold-usage", FOLD_MS, () => foldUsageAcrossWorkspaces(housekeeping)),
      loop("forget-usage", DAY_MS, () => deleteOldUsageAcrossWorkspaces(housekeeping)),
    ],
  };
}
