import { type Due, type DueForVersion, lockJobsAcrossWorkspaces, makeDueAcrossWorkspaces, setDueAcrossWorkspaces } from "#jobs";
import type { Db, JobId, RunId, Timestamp, Transactional } from "#kernel";
import type { LaneKey } from "#lanes";
import { findParkedUntried, recordUnfitAcrossWorkspaces, type UnfitRun, unpark } from "./unfit-store.ts";

/** What a program reported about a run whose journal does not fit its code, as the settle carries it. */
export interface UnfitReport {
  readonly step: string;
  readonly reason: string;
  readonly version: string | null;
}

/** The due time of a job whose run waits for other code. */
const NEVER = "9999-01-01T00:00:00.000Z" as Timestamp;
/** After a version has tried a run for the second time, how long until it may get the run again. */
const AGAIN_AFTER_SECONDS = 30;
/** The maximum number of runs in one transaction. */
const CHUNK = 500;

const jobOf = ({ workspaceId, laneId }: LaneKey, id: RunId) => ({ workspaceId, laneId, id: id as string as JobId });

/**
 * Lets runs whose journals did not fit wait for other code, or gives them to a version that has not tried them. This uses no attempt. The
 * jobs of the runs are locked.
 *
 * @returns when the runs are due that do not wait for other code
 */
export async function parkUnfitAcrossWorkspaces(tx: Db, unfit: readonly UnfitRun[]): Promise<Timestamp[]> {
  const recorded = new Map((await recordUnfitAcrossWorkspaces(tx, unfit)).map((one) => [one.id, one]));
  const due: Due[] = [];
  const given: DueForVersion[] = [];
  for (const run of unfit) {
    const one = recorded.get(run.id);
    // If a run was cancelled in the meantime, its job undoes what is left.
    if (!one) {
      due.push({ ...jobOf(run, run.id), at: null });
      continue;
    }
    const { next, again } = one;
    if (next === null) due.push({ ...jobOf(run, run.id), at: NEVER });
    // A node that does not know about the next version yet would give the run to this version over and over.
    else given.push({ ...jobOf(run, run.id), version: next, seconds: again ? AGAIN_AFTER_SECONDS : 0 });
  }
  if (due.length > 0) await setDueAcrossWorkspaces(tx, due);
  return given.length > 0 ? makeDueAcrossWorkspaces(tx, given) : [];
}

/**
 * Lets runs of a workflow that wait for other code resume with a version that has not tried them. Without a version: the runs that code
 * without a version has tried last, because it may be other code now.
 *
 * @returns how many runs resume
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
    await makeDueAcrossWorkspaces(
      tx,
      unparked.map((id) => ({ ...jobOf(lane, id), version })),
    );
  return unparked.length;
}

/** Lets a run that waits for other code resume with any code. Returns false if it does not wait for code. */
export const releaseRun = async (tx: Db, lane: LaneKey, id: RunId): Promise<boolean> => (await release(tx, lane, [id], null)) > 0;
