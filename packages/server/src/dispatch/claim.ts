import type { JobKey } from "#jobs";
import type { JobId, Timestamp, WorkspaceId } from "#kernel";
import type { LaneId } from "#queues";

/** A job that this node holds for one attempt. A settle names it, and moves nothing once the claim is no longer true. */
export interface Claim extends JobKey {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
  readonly id: JobId;
  readonly nodeId: number;
  readonly attempt: number;
  /** Attempts allowed besides the spared ones. */
  readonly attempts: number;
  readonly spared: number;
  readonly backoffDelayMs: number;
  readonly payload: string;
  readonly tag: string | null;
  readonly createdAt: Timestamp;
  readonly startedAt: Timestamp;
  /** Revision of the queue's configuration that the claim was made under. */
  readonly revision: number;
}

/** A lane in which jobs may wait. */
export interface LaneKey {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
}
