import { type Due, type DueForVersion, lockJobsAcrossWorkspaces, makeDueAcrossWorkspaces, setDueAcrossWorkspaces } from "#jobs";
import type { Db, JobId, RunId, Timestamp, Transactional } from "#kernel";
import type { LaneKey } from "#lanes";
import { lockRunsAcrossWorkspaces } from "../steps/wait-store.ts";
import { findParkedUntried, NEVER, recordUnfitAcrossWorkspaces, type UnfitRun, unpark } from "./unfit-store.ts";

/** What a program reported about a run whose journal does not fit its code, as the settle carries it. */
export interface UnfitReport {
  readonly step: string;
  readonly reason: string;
  readonly version: string | null;
}

/** After a version has tried a run for the second time, how long until it may get the run again. */
const AGAIN_AFTER_SECONDS = 30;
/** The shortest and the longest time until code without a version tries a run again. In between, as long as the run has waited. */
const RETRY_AFTER_SECONDS = { min: 30, max: 900 };
/** The maximum number of runs in one transaction. */
const CHUNK = 500;
/** Before all runs. */
const FIRST_RUN = "00000000-0000-0000-0000-000000000000" as RunId;

const jobOf = ({ workspaceId, laneId }: LaneKey, id: RunId) => ({ workspaceId, laneId, id: id as string as JobId });

/**
 * Lets runs whose journals did not fit wait for other code, or gives them to a version that has not tried them. This uses no attempt. Runs
 * that code without a version has tried or may try are also due from time to time, as nobody can tell when it is other code (decision 81). The
 * jobs of the runs are locked.
 *
 * @returns when the runs are due
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
    const { next, again, mayChange, waitedSeconds } = one;
    // A node that does not know about the next version yet would give the run to this version over and over.
    if (next !== null) given.push({ ...jobOf(run, run.id), version: next, seconds: again ? AGAIN_AFTER_SECONDS : 0 });
    else if (mayChange) given.push({ ...jobOf(run, run.id), version: null, seconds: retryAfterSeconds(waitedSeconds) });
    else due.push({ ...jobOf(run, run.id), at: NEVER });
  }
  if (due.length > 0) await setDueAcrossWorkspaces(tx, due);
  return given.length > 0 ? makeDueAcrossWorkspaces(tx, given) : [];
}

const retryAfterSeconds = (waitedSeconds: number): number =>
  Math.round(Math.min(Math.max(waitedSeconds, RETRY_AFTER_SECONDS.min), RETRY_AFTER_SECONDS.max));

/**
 * Lets runs of a workflow that wait for other code resume with a version that has not tried them. Without a version: also those that code
 * without a version has tried last, because it may be other code now.
 *
 * @returns how many runs resume
 */
export async function releaseParked(database: Transactional, lane: LaneKey, version: string): Promise<number> {
  // Each run once: code that it does not fit may take it again at once.
  let after = FIRST_RUN;
  for (let released = 0; ; ) {
    const ids = await findParkedUntried(database, lane, version, after, CHUNK);
    if (ids.length > 0) released += await database.transaction((tx) => release(tx, lane, ids, version || null));
    const last = ids.at(CHUNK - 1);
    if (last === undefined) return released;
    after = last;
  }
}

async function release(tx: Db, lane: LaneKey, ids: readonly RunId[], version: string | null): Promise<number> {
  await lockJobsAcrossWorkspaces(
    tx,
    ids.map((id) => jobOf(lane, id)),
  );
  // Executions of some may be about to begin.
  await lockRunsAcrossWorkspaces(
    tx,
    ids.map((id) => ({ workspaceId: lane.workspaceId, id })),
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
