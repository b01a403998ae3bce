import type { Module } from "#http";
import { type EmitEvent, PeriodicLoop, type Random, type Transactional } from "#kernel";
import type { LaneId, PulledWaker } from "#lanes";
import { foldRunCountsAcrossWorkspaces, sweepEventKeysAcrossWorkspaces, sweepExpiredRunsAcrossWorkspaces } from "#workflows";
import { clearExpiredRows, maintainPartitions } from "./partitions.ts";
import { sweepDeletedLanesAcrossWorkspaces } from "./sweep-lanes.ts";
import { sweepDeletedWorkspacesAcrossWorkspaces } from "./sweep-workspaces.ts";

const HOUR_MS = 3_600_000;

export interface RetentionOptions {
  readonly housekeeping: Transactional;
  readonly random: Random;
  readonly emit: EmitEvent;
  readonly waker: PulledWaker;
}

/** Deletes the rows of deleted queues and workspaces, and rows whose retention has expired. */
export function createRetention({ housekeeping, random, emit, waker }: RetentionOptions): Module {
  const loop = (name: string, everyMs: number, pass: () => Promise<unknown>) => new PeriodicLoop({ name, everyMs, pass }, emit, random);
  const slowMonths = new Set<string>();
  const failedLanes = new Set<LaneId>();
  const sweepLanes = () => sweepDeletedLanesAcrossWorkspaces(housekeeping, (lanes) => waker.wakeWorkflows(lanes), emit, failedLanes);
  return {
    services: [
      loop("sweep-lanes", 15_000, sweepLanes),
      loop("sweep-workspaces", 60_000, () => sweepDeletedWorkspacesAcrossWorkspaces(housekeeping)),
      loop("sweep-runs", HOUR_MS, () => sweepExpiredRunsAcrossWorkspaces(housekeeping)),
      loop("fold-run-counts", 5_000, () => foldRunCountsAcrossWorkspaces(housekeeping)),
      loop("sweep-event-keys", HOUR_MS, () => sweepEventKeysAcrossWorkspaces(housekeeping)),
      loop("partitions", HOUR_MS, () => maintainPartitions(housekeeping, emit, slowMonths)),
      loop("sweep-history", HOUR_MS, () => clearExpiredRows(housekeeping, emit, "job_history")),
      loop("sweep-audit", HOUR_MS, () => clearExpiredRows(housekeeping, emit, "audit_event")),
    ],
  };
}
