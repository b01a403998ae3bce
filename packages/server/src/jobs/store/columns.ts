import { plainArray } from "#kernel";
import type { JobKey } from "../job.ts";

/** A claim as statements compare it with the row of its job. */
interface ClaimOfJob extends JobKey {
  readonly leaseId: number;
  readonly attempt: number;
}

/**
 * The keys of jobs as arrays, for `unnest`. The workspace is a column even if all jobs have the same one: if it were one value, the planner
 * could read all jobs of the workspace (docs/sql.md).
 */
export const keyColumns = (jobs: readonly JobKey[]) => ({
  workspaceIds: plainArray(jobs.map((one) => one.workspaceId)),
  laneIds: plainArray(jobs.map((one) => one.laneId)),
  ids: plainArray(jobs.map((one) => one.id)),
});

/** The same for claims. */
export const claimColumns = (claims: readonly ClaimOfJob[]) => ({
  ...keyColumns(claims),
  leaseIds: plainArray(claims.map((one) => one.leaseId)),
  attempts: plainArray(claims.map((one) => one.attempt)),
});
