import type { Claim } from "#jobs";
import type { Timestamp, WorkspaceId } from "#kernel";
import type { LaneKey } from "#lanes";
import type { BegunRun } from "../executions/execution-store.ts";

/** The worker that is to hold a run that is started: it waits for runs of this lane. */
export interface RunHolder extends LaneKey {
  /** The worker's lease. */
  readonly leaseId: number;
  readonly leaseSeconds: number;
  /** The name of the call that waits. */
  readonly request: string | null;
  /** The version of the worker's code. */
  readonly version: string | null;
}

/** A run that was started eagerly for a worker, and has begun. */
export interface EagerRun {
  readonly holder: RunHolder;
  readonly claim: Claim & { readonly leaseUntil: Timestamp };
  readonly begun: BegunRun;
}

/** What a write has handed over. */
interface HandedOver<Result> {
  readonly result: Result;
  readonly held: readonly EagerRun[];
  /** Workers that may hold a run: the database became unavailable before it responded. */
  readonly unknown: ReadonlyMap<RunHolder, Error>;
}

/** Workers that wait for runs. If nothing comes before a new run, it may be started eagerly for one of them. Then it needs no claim. */
export interface WaitingWorkers {
  /** The lease of the node. Null: no runs may be started eagerly. */
  readonly nodeLeaseId: number | null;
  /**
   * Runs a write that may start runs eagerly for workers. These workers get nothing else until it has ended.
   *
   * @param write gets a function that returns the holder of the next run of a workflow: null if no worker waits for it
   */
  handOver<Result>(
    write: (holderOf: (workspaceId: WorkspaceId, workflow: string) => RunHolder | null) => Promise<HandedOver<Result>>,
  ): Promise<Result>;
}
