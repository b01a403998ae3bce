import { insertInternalJobs } from "#jobs";
import type { Db, JobId } from "#kernel";
import { type Parent, runPayload } from "./parent.ts";
import { insertRuns, type RunToInsert } from "./run-store.ts";

/** A run to start. Its backoff is that of its workflow. */
export interface RunToStart extends Omit<RunToInsert, "parent"> {
  /** Whose step starts it, and waits for it. None unless given. */
  readonly parent?: Parent;
  readonly backoffDelayMs: number;
  /** When it is due. Milliseconds since 1970; null: now. */
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
