import { findHeldInLane } from "#jobs";
import { type Db, type EmitEvent, tolerate } from "#kernel";
import type { LaneKey } from "#lanes";
import type { HeldJobs } from "./held-jobs.ts";
import type { KnownWorkers } from "./known-workers.ts";
import type { Polls } from "./polls.ts";
import { showWorkId } from "./work-id.ts";

export interface EndLane {
  readonly db: Db;
  readonly held: HeldJobs;
  readonly workers: KnownWorkers;
  readonly polls: Polls;
  readonly emit: EmitEvent;
}

/**
 * Notifies the workers that call this node of the jobs that they held in a deleted lane, then ends the calls that wait for its jobs.
 * Another node may have handed out these jobs, so they are looked up: the rows exist until the lane is swept.
 */
export async function endLane({ db, held, workers, polls, emit }: EndLane, lane: LaneKey): Promise<void> {
  const given = held.forgetLane(lane);
  for (const claim of given) workers.cancelled(claim.leaseId, showWorkId(claim));
  const notified = new Set(given.map(({ id }) => id));
  const leaseIds = workers.leasesOf(lane.workspaceId);
  await tolerate(
    async () => {
      const found = leaseIds.length > 0 ? await findHeldInLane(db, lane, leaseIds) : [];
      for (const one of found) if (!notified.has(one.id)) workers.cancelled(one.leaseId, showWorkId(one));
    },
    (error) => emit("lane_holders_read_failed", { error }),
  );
  polls.forget(lane.laneId);
}
