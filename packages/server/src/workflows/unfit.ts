import { lockJobsAcrossWorkspaces, makeDue, setDue } from "#jobs";
import type { Db, JobId, RunId, Timestamp, Transactional } from "#kernel";
import type { LaneKey } from "#lanes";
import { setStatus } from "./execution-store.ts";
import type { RunKey } from "./run.ts";
import { findParkedUntried, recordUnfit, unpark } from "./unfit-store.ts";

/** What a program reported of a run whose journal does not fit its code, as the settle carries it. */
export interface UnfitReport {
  readonly outcome: "unfit";
  readonly step: string;
  readonly reason: string;
  readonly version: string | null;
}

/** When a job is due whose run waits for other code. */
const NEVER = "9999-01-01T00:00:00.000Z" as Timestamp;
/** How long after its second look at a run a version may get it again. */
const AGAIN_AFTER_SECONDS = 30;
/** Runs in one transaction. */
const CHUNK = 500;

const jobOf = ({ workspaceId, laneId }: LaneKey, id: RunId) => ({ workspaceId, laneId, id: id as string as JobId });

/**
 * Lets a run whose journal did not fit wait for other code, or gives it to a version that has not tried it. It uses no attempt.
 *
 * @returns when it is due; null if it waits for other code
 */
export async function parkUnfit(
  tx: Db,
  job: LaneKey & { readonly id: JobId },
  { step, reason, version }: UnfitReport,
): Promise<Timestamp | null> {
  const { workspaceId, laneId } = job;
  const run: RunKey = { workspaceId, id: job.id as string as RunId };
  await setStatus(tx, run, "waiting");
  const { next, again } = await recordUnfit(tx, { workspaceId, laneId, id: run.id, step, reason, version: version ?? "" });
  if (next === null) {
    await setDue(tx, job, NEVER);
    return null;
  }
  await setStatus(tx, run, "running");
  // A node that does not know of the next version yet would give the run to this one over and over.
  const [at = null] = await makeDue(tx, job, [job.id], next, again ? AGAIN_AFTER_SECONDS : 0);
  return at;
}

/**
 * Lets runs of a workflow that wait for other code go on with a version that has not tried them. Without a version: those that code without
 * a version has tried last, since it may be other code now.
 *
 * @returns how many go on
 */
export async function releaseParked(database: Transactional, lane: LaneKey, version: string): Promise<number> {
  for (let released = 0; ; ) {
    const ids = await findParkedUntried(database, lane, version, CHUNK);
    if (ids.length > 0) released += await database.transaction((tx) => release(tx, lane, ids, version || null));
    if (ids.length < CHUNK) return released;
  }
}

async function release(tx: Db, lane: LaneKey, ids: readonly RunId[], version: string | null): Promise<number> {
  await lockJobsAcrossWorkspaces(
    tx,
    ids.map((id) => jobOf(lane, id)),
  );
  const unparked = await unpark(tx, lane, ids);
  if (unparked.length > 0)
    await makeDue(
      tx,
      lane,
      unparked.map((id) => id as string as JobId),
      version,
    );
  return unparked.length;
}

/** Lets a run that waits for other code go on with any. Returns false if it does not wait for code. */
export const releaseRun = async (tx: Db, lane: LaneKey, id: RunId): Promise<boolean> => (await release(tx, lane, [id], null)) > 0;
