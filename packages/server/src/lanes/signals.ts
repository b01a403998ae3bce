import type { JobId, RunId, WorkspaceId } from "#kernel";
import type { LaneKey } from "./lane.ts";

/** How other modules report that there may be work. */
export interface Waker {
  /** Jobs of these lanes may be claimable. With `within` "node", only this node looks; otherwise all nodes do. */
  wake(lanes: Iterable<LaneKey>, within?: "node" | undefined): void;
  /** A job becomes due at this time. Milliseconds since 1970. */
  wakeAt(ms: number): void;
}

/** How other modules report that there may be work for workers. */
export interface PulledWaker {
  /** Jobs of these lanes, which workers serve, may be claimable: on all nodes. */
  wakePulled(lanes: readonly LaneKey[]): void;
  /** The same for lanes of workflows, whose jobs go to workers or to an `endpoint_url`. */
  wakeWorkflows(lanes: readonly LaneKey[]): void;
}

/** Aborts attempts under way on all nodes, after the database has stored that they no longer count. */
export interface Aborter {
  /** The job was cancelled while it was claimed under this lease. */
  abortJob(id: JobId, leaseId: number): void;
  /** The run was cancelled while a worker executed it under this lease. */
  abortRun(id: RunId, leaseId: number): void;
  /** The lane was deleted. */
  abortLane(lane: LaneKey): void;
  /** The workspace was deleted. */
  abortWorkspace(workspaceId: WorkspaceId): void;
}
