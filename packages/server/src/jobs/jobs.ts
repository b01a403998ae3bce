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
  type WorkspaceId,
} from "#kernel";
import { Enqueuer, type Outlet } from "./enqueue.ts";
import { recountJobsAcrossWorkspaces } from "./recount.ts";
import { type JobRoutes, mountJobs } from "./routes.ts";
import { OldestSampler } from "./sample-oldest.ts";
import { foldCountsAcrossWorkspaces } from "./store/fold-counts.ts";
import { forgetMetricsAcrossWorkspaces } from "./store/forget-metrics.ts";
import { foldTallyAcrossWorkspaces, forgetTallyAcrossWorkspaces } from "./store/tally.ts";
import { sweepBatchKeysAcrossWorkspaces, sweepIdempotencyKeysAcrossWorkspaces } from "./sweep-idempotency-keys.ts";

export interface JobsOptions extends Omit<JobRoutes, "enqueuer"> {
  readonly shares: Shares;
  readonly writes: Database;
  readonly housekeeping: Transactional;
  /** For counts of all jobs, which may take minutes. */
  readonly recounts: Transactional;
  readonly ids: UuidSource;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly outlet: Outlet;
  readonly report: ReportChange;
}

const HOUR_MS = 3_600_000;

/** How long after its start a node recounts jobs for the first time. Milliseconds. */
const FIRST_RECOUNT_MS = 600_000;
const RECOUNT_EVERY_MS = 12 * HOUR_MS;
/** How long a node waits while another one recounts. Milliseconds. */
const RETRY_RECOUNT_MS = 600_000;

/** Jobs: their routes, and the loops that keep their tables small. */
export function createJobs({ writes, housekeeping, recounts, ids, random, emit, outlet, report, shares, ...routes }: JobsOptions): Module {
  const enqueuer = new Enqueuer({ db: writes, ids, outlet, emit, backlog: shares.enqueueBacklog, report });
  const loop = (name: string, everyMs: number, pass: () => Promise<unknown>) => new PeriodicLoop({ name, everyMs, pass }, emit, random);
  const oldest = new OldestSampler(housekeeping, routes.clock);
  let recountAtMs: number | undefined;
  let recountFrom: WorkspaceId | null = null;
  const recount = async () => {
    recountAtMs ??= routes.clock.elapsedMs() + FIRST_RECOUNT_MS;
    // The first pass of a loop comes with the start of the node: too often to count all jobs.
    const leftMs = recountAtMs - routes.clock.elapsedMs();
    if (leftMs > 0) return leftMs;
    recountFrom = await recountJobsAcrossWorkspaces(recounts, emit, recountFrom);
    const waitMs = recountFrom === null ? RECOUNT_EVERY_MS : RETRY_RECOUNT_MS;
    recountAtMs = routes.clock.elapsedMs() + waitMs;
    return waitMs;
  };
  return {
    routes: (listener) => mountJobs(listener, { ...routes, shares, enqueuer }),
    services: [
      loop("sweep-idempotency-keys", 60_000, () => sweepIdempotencyKeysAcrossWorkspaces(housekeeping)),
      loop("sweep-batch-keys", 60_000, () => sweepBatchKeysAcrossWorkspaces(housekeeping)),
      loop("fold-counts", 5_000, () => foldCountsAcrossWorkspaces(housekeeping)),
      loop("fold-tally", 30_000, () => foldTallyAcrossWorkspaces(housekeeping)),
      loop("sample-oldest", 60_000, () => oldest.pass()),
      loop("forget-metrics", HOUR_MS, () => forgetMetricsAcrossWorkspaces(housekeeping, MINUTE_METRICS_DAYS)),
      loop("recount-jobs", RECOUNT_EVERY_MS, recount),
      loop("forget-tally", HOUR_MS, () => forgetTallyAcrossWorkspaces(housekeeping)),
    ],
  };
}
