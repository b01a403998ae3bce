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
  readonly concurrencyKey: string | null;
  readonly createdAt: Timestamp;
  readonly startedAt: Timestamp;
  /** Name of the schedule that made the job, and the tick that it was made for. */
  readonly schedule: string | null;
  readonly scheduledFor: Timestamp | null;
  /** Revision of the queue's configuration that the claim was made under. */
  readonly revision: number;
  /** What a claim from a lane whose circuit is open tries out; null for all others. */
  readonly probe: Probe | null;
  /** Whether its lane had limits. */
  readonly limited: boolean;
}

/** The one attempt that an open circuit lets through: how many such have failed before, and for how long it has been open. */
interface Probe {
  readonly failed: number;
  readonly openMs: number;
}

/** A lane in which jobs may wait. */
export interface LaneKey {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
}
