import { MINUTE_METRICS_DAYS } from "@tidemill/contract";
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
import { type EnqueueEngine, Enqueuer } from "./enqueue.ts";
import { JobRecount } from "./recount.ts";
import { type JobRoutes, mountJobs } from "./routes.ts";
import { OldestSampler } from "./sample-oldest.ts";
import { foldCountsAcrossWorkspaces } from "./store/fold-counts.ts";
import { deleteOldMetricsAcrossWorkspaces } from "./store/forget-metrics.ts";
import { deleteOldTallyAcrossWorkspaces, foldTallyAcrossWorkspaces } from "./store/tally.ts";
import { sweepBatchKeysAcrossWorkspaces, sweepIdempotencyKeysAcrossWorkspaces } from "./sweep-idempotency-keys.ts";

export interface JobsOptions extends Omit<JobRoutes, "enqueuer"> {
  readonly shares: Shares;
  readonly writes: Database;
  readonly housekeeping: Transactional;
  /** Connections for counting all jobs, which may take minutes. */
  readonly recounts: Transactional;
  readonly ids: UuidSource;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly outlet: EnqueueEngine;
  readonly report: ReportChange;
}

const HOUR_MS = 3_600_000;

/** How long after its start a node counts jobs for the first time, and then looks for workspaces whose jobs are to be counted. Milliseconds. */
const RECOUNT_MS = 600_000;

/** Jobs: their routes, and the loops that keep their tables small. */
export function createJobs({ writes, housekeeping, recounts, ids, random, emit, outlet, report, shares, ...routes }: JobsOptions): Module {
  const enqueuer = new Enqueuer({ db: writes, ids, outlet, emit, backlog: shares.enqueueBacklog, report });
  const loop = (name: string, everyMs: number, pass: () => Promise<unknown>) => new PeriodicLoop({ name, everyMs, pass }, emit, random);
  const oldest = new OldestSampler(housekeeping, routes.clock);
  const recount = new JobRecount({ db: recounts, canceller: writes, emit });
  const recountLoop = loop("recount-jobs", RECOUNT_MS, () => recount.passAcrossWorkspaces());
  return {
    routes: (listener) => mountJobs(listener, { ...routes, shares, enqueuer }),
    services: [
      loop("sweep-idempotency-keys", 60_000, () => sweepIdempotencyKeysAcrossWorkspaces(housekeeping)),
      loop("sweep-batch-keys", 60_000, () => sweepBatchKeysAcrossWorkspaces(housekeeping)),
      loop("fold-counts", 5_000, () => foldCountsAcrossWorkspaces(housekeeping)),
      loop("fold-tally", 30_000, () => foldTallyAcrossWorkspaces(housekeeping)),
      loop("sample-oldest", 60_000, () => oldest.pass()),
      loop("forget-metrics", HOUR_MS, () => deleteOldMetricsAcrossWorkspaces(housekeeping, MINUTE_METRICS_DAYS)),
      { start: () => recountLoop.start(RECOUNT_MS), stop: () => Promise.all([recountLoop.stop(), recount.cancel()]) },
      loop("forget-tally", HOUR_MS, () => deleteOldTallyAcrossWorkspaces(housekeeping)),
    ],
  };
}
