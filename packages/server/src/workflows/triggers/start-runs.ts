import { insertInternalJobs } from "#jobs";
import type { Db, JobId } from "#kernel";
import { type Parent, runPayload } from "../runs/parent.ts";
import { insertRuns, type RunToInsert } from "../runs/run-store.ts";

/** A run to start. It has the backoff of its workflow. */
export interface RunToStart extends Omit<RunToInsert, "parent"> {
  /** The run whose step starts this one and waits for it. Default: none. */
  readonly parent?: Parent;
  readonly backoffDelayMs: number;
  /** When the run is due. Milliseconds since 1970; null: now. */
  readonly runAtMs: number | null;
}

/** Starts runs: with the job of each, in the transaction that has taken their executions. */
export async function startRuns(tx: Db, runs: readonly RunToStart[]): Promise<void> {
  if (runs.length === 0) return;
  await insertRuns(tx, runs);
  await insertInternalJobs(
    tx,
    runs.map(({ workspaceId, laneId, id, attempts, backoffDelayMs, runAtMs, parent }) => ({
      workspaceId,
      laneId,
      id: id as string as JobId,
      kind: "run",
      payload: runPayload(parent),
      attempts,
      backoffDelayMs,
      runAtMs,
      concurrencyKey: null,
    })),
  );
}
