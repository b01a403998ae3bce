import { insertInternalJobs } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { LaneId } from "#lanes";
import type { RunKey } from "../runs/run.ts";

/** How often the worker of an undo may be lost. */
export const UNDO_ATTEMPTS = 10;
const BACKOFF_MS = 1_000;

/** A run that ends, and whose steps are to be undone. */
export interface RunToUndo extends RunKey {
  readonly laneId: LaneId;
  /** The attempt of the run's job. The undo continues the numbers of attempts, so that no token of an earlier execution is valid for it. */
  readonly executions: number;
  /** The version of the code that fits its journal. Null: any. */
  readonly version: string | null;
}

/** Enqueues the jobs that undo the steps of runs that end. They have the ids of the runs, as the jobs of their executions had. */
export const enqueueUndos = (tx: Db, runs: readonly RunToUndo[]): Promise<unknown> =>
  insertInternalJobs(
    tx,
    runs.map(({ workspaceId, id, laneId, executions, version }) => ({
      ...{ workspaceId, laneId, id: id as string as JobId },
      kind: "undo",
      payload: "{}",
      attempts: UNDO_ATTEMPTS,
      spared: executions,
      backoffDelayMs: BACKOFF_MS,
      runAtMs: null,
      concurrencyKey: null,
      version,
    })),
  );
