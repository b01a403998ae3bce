import type { Probe } from "#circuits";
import type { JobId, Timestamp, WorkspaceId } from "#kernel";
import type { LaneId } from "#lanes";
import type { JobKey } from "./job.ts";

/** A job that is held under a lease for one attempt. A settle names the claim, and changes nothing when the claim is no longer valid. */
export interface Claim extends JobKey {
  readonly workspaceId: WorkspaceId;
  readonly laneId: LaneId;
  readonly id: JobId;
  readonly kind: string;
  readonly leaseId: number;
  readonly attempt: number;
  /** Attempts allowed, not counting the spared ones. */
  readonly attempts: number;
  readonly spared: number;
  readonly backoffDelayMs: number;
  readonly payload: string;
  readonly tag: string | null;
  readonly concurrencyKey: string | null;
  readonly createdAt: Timestamp;
  readonly startedAt: Timestamp;
  /** Name of the schedule that created the job, and the tick that it was created for. */
  readonly schedule: string | null;
  readonly scheduledFor: Timestamp | null;
  /** The trace of the request that enqueued it. */
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  /** Revision of the lane that the claim was made under. */
  readonly revision: number;
  /** Set when the circuit of the lane is open: the attempt is its probe. */
  readonly probe: Probe | null;
  /** Whether its lane had limits. */
  readonly limited: boolean;
}
