import type { WorkerClaim } from "#jobs";
import type { LaneId } from "#lanes";
import type { Ask } from "./plan-claim.ts";
import type { Poll } from "./poll.ts";

/** What a claim brought, by poll. */
export function divideClaims(asks: readonly Ask[], claims: readonly WorkerClaim[]): Map<Poll, WorkerClaim[]> {
  const left = Map.groupBy(
    claims.toSorted((one, other) => one.place - other.place),
    (claim) => claimantOf(claim.laneId, claim.leaseId, claim.request),
  );
  const brought = new Map<Poll, WorkerClaim[]>();
  for (const { poll, lane, take } of asks) {
    const { worker, request } = poll.asked;
    const got = left.get(claimantOf(lane.laneId, worker.leaseId, request))?.splice(0, take) ?? [];
    if (got.length > 0) brought.set(poll, [...(brought.get(poll) ?? []), ...got]);
  }
  return brought;
}

/** The name of a claimant: a lane, a worker's lease, and the name of a call. Two polls of one worker may have the same one. */
const claimantOf = (laneId: LaneId, leaseId: number, request: string | null): string => `${laneId} ${leaseId} ${request ?? ""}`;
