import type { Module } from "#http";
import {
  type Database,
  type EmitEvent,
  PeriodicLoop,
  type Random,
  type ReportChange,
  type Shares,
  type Transactional,
  type UuidSource,
} from "#kernel";
import { Enqueuer, type Outlet } from "./enqueue.ts";
import { type JobRoutes, mountJobs } from "./routes.ts";
import { foldTallyAcrossWorkspaces, forgetTallyAcrossWorkspaces } from "./store/tally.ts";
import { sweepBatchKeysAcrossWorkspaces, sweepIdempotencyKeysAcrossWorkspaces } from "./sweep-idempotency-keys.ts";

export interface JobsOptions extends Omit<JobRoutes, "enqueuer"> {
  readonly shares: Shares;
  readonly writes: Database;
  readonly housekeeping: Transactional;
  readonly ids: UuidSource;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly outlet: Outlet;
  readonly report: ReportChange;
}

const HOUR_MS = 3_600_000;

/** Jobs: their routes, and the loops that keep their tables small. */
export function createJobs({ writes, housekeeping, ids, random, emit, outlet, report, shares, ...routes }: JobsOptions): Module {
  const enqueuer = new Enqueuer({ db: writes, ids, outlet, emit, backlog: shares.enqueueBacklog, report });
  const loop = (name: string, everyMs: number, pass: () => Promise<unknown>) => new PeriodicLoop({ name, everyMs, pass }, emit, random);
  return {
    routes: (listener) => mountJobs(listener, { ...routes, shares, enqueuer }),
    services: [
      loop("sweep-idempotency-keys", 60_000, () => sweepIdempotencyKeysAcrossWorkspaces(housekeeping)),
      loop("sweep-batch-keys", 60_000, () => sweepBatchKeysAcrossWorkspaces(housekeeping)),
      loop("fold-tally", 30_000, () => foldTallyAcrossWorkspaces(housekeeping)),
      loop("forget-tally", HOUR_MS, () => forgetTallyAcrossWorkspaces(housekeeping)),
    ],
  };
}
