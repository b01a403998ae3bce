import { type Db, toMoment } from "#kernel";
import type { ScheduledRun } from "#schedules";
import { startRuns } from "./start-runs.ts";

/** Starts the runs of ticks, in the transaction that takes the ticks. */
export const startScheduledRuns = (tx: Db, runs: readonly ScheduledRun[]): Promise<void> =>
  startRuns(
    tx,
    runs.map(({ atMs, ...run }) => {
      const trigger = JSON.stringify({ type: "schedule", scheduledFor: toMoment(atMs) });
      return { ...run, input: "null", trigger, idempotencyKey: null, runAtMs: null };
    }),
  );
