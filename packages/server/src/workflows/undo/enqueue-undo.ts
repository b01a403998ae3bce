import { insertOfKind } from "#jobs";
import type { Db, JobId } from "#kernel";
import type { LaneId } from "#lanes";
import type { RunKey } from "../run.ts";

/** How often the worker of an undo may be lost. */
const ATTEMPTS = 10;
const BACKOFF_MS = 1_000;

/**
 * Enqueues the job that undoes the steps of a run that ends. It has the run's id, as the job of its executions had.
 *
 * @param executions the attempt of that job: those of this one go on from it, so that no token of an earlier execution fits
 */
export const enqueueUndo = (tx: Db, { workspaceId, id }: RunKey, laneId: LaneId, executions: number): Promise<unknown> =>
  insertOfKind(tx, [
    {
      ...{ workspaceId, laneId, id: id as string as JobId },
      kind: "undo",
      payload: "{}",
      attempts: ATTEMPTS,
      spared: executions,
      backoffDelayMs: BACKOFF_MS,
      runAtMs: null,
      concurrencyKey: null,
    },
  ]);
