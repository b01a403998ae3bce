import type { Probe } from "#circuits";
import type { JobId, Timestamp, WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { JobKey } from "./job.ts";

/** A job that is held under a lease for one attempt. A settle names it, and moves nothing once the claim is no longer true. */
export interface Claim extends JobKey {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
  readonly id: JobId;
  readonly kind: string;
  readonly leaseId: number;
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
  /** Revision of the lane that the claim was made under. */
  readonly revision: number;
  /** What a claim from a lane whose circuit is open tries out; null for all others. */
  readonly probe: Probe | null;
  /** Whether its lane had limits. */
  readonly limited: boolean;
}
