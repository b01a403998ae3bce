import type { JobId, WorkspaceId } from "#kernel";
import type { LaneKey } from "./lane.ts";

/** Where every module says that there may be work. */
export interface Waker {
  /** Jobs of these lanes may be claimable. Within `node` only this node looks, otherwise all nodes do. */
  wake(lanes: Iterable<LaneKey>, within?: "node" | undefined): void;
  /** A job becomes due then. Milliseconds since 1970. */
  wakeAt(ms: number): void;
}

/** Ends attempts under way, on whichever node, after the database says that they no longer count. */
export interface Aborter {
  /** The job was cancelled while it was claimed under that lease. */
  abortJob(id: JobId, leaseId: number): void;
  /** The lane was deleted. */
  abortLane(lane: LaneKey): void;
  /** The workspace was deleted. */
  abortWorkspace(workspaceId: WorkspaceId): void;
}
