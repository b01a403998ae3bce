import { setTimeout } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { isTimeout } from "./database/pool.ts";
import type { WorkspaceId } from "./ids.ts";
import { isAway } from "./problem.ts";

/** The wait when other nodes have locked all that is due. Milliseconds. */
const LOCKED_MS = 50;
/** The wait when what is due failed. Milliseconds. */
const FAILED_MS = 1_000;
/** When so many workspaces in a row take too long, the database does, and not their rows. */
const MAX_TIMEOUTS = 3;

/** What one transaction did for a batch of workspaces. */
export interface ServedBatch {
  /** Whether it found anything to do. */
  readonly served: boolean;
  /** The workspaces that may have more: they go to the end of the line. */
  readonly more: readonly WorkspaceId[];
  /** A pause before the next batch, which leaves the database to others. Milliseconds. */
  readonly restMs?: number;
}

interface Turn extends Omit<ServedBatch, "restMs"> {
  readonly failed: boolean;
  /** Whether it is of one workspace, which took too long. */
  readonly timedOut?: boolean;
}

/** Due work of many workspaces, and how to do a share of it. */
export interface DueWork {
  readonly clock: Pick<Clock, "elapsedMs">;
  /** Workspaces in one transaction. */
  readonly maxBatch: number;
  /** How long the workspaces that were found take turns, before `findWorkspaces` runs again. Milliseconds. */
  readonly roundMs: number;
  /** How long until the next work is due, in milliseconds: 0 or less when some is due, null when none is planned. It reads one index entry. */
  readonly findNextInMs: () => Promise<number | null>;
  /** The workspaces that have due work, the longest waiting first. */
  readonly findWorkspaces: () => Promise<readonly WorkspaceId[]>;
  /** Does a share of the due work of each workspace of the batch, in one transaction. */
  readonly serve: (batch: readonly WorkspaceId[]) => Promise<ServedBatch>;
  /** A batch failed. If it had several workspaces, each of them is now tried alone. */
  readonly onFailure: (batch: readonly WorkspaceId[], error: unknown) => void;
  /** Waits for `restMs`. Tests replace it. */
  readonly pause?: (ms: number) => Promise<unknown>;
}

/**
 * Does due work of all workspaces for one round. Workspaces take turns in batches, so that none waits for another's thousands. When a
 * batch fails or takes too long, its workspaces are served one by one, so that one workspace's bad or locked row does not keep the others
 * from being served.
 *
 * @returns the wait until there is more to do, in milliseconds: 0 at once, undefined when nothing is planned
 * @throws UNAVAILABLE when the database is away, or too slow for all
 */
export async function serveInTurnsAcrossWorkspaces(work: DueWork): Promise<number | undefined> {
  const { clock, maxBatch, roundMs, findNextInMs, findWorkspaces } = work;
  const inMs = await findNextInMs();
  if (inMs === null) return undefined;
  if (inMs > 0) return Math.max(1, inMs);
  let untilMs = clock.elapsedMs() + roundMs;
  let waitMs = LOCKED_MS;
  for (const line = [...(await findWorkspaces())]; line.length > 0 && clock.elapsedMs() < untilMs; ) {
    const beganMs = clock.elapsedMs();
    const { served, failed, more } = await serveOrSplit(work, line.splice(0, maxBatch));
    line.push(...more);
    // The others have all of their time. Those that fail are the longest waiting, and the first of each round.
    if (failed) untilMs += clock.elapsedMs() - beganMs;
    if (served) waitMs = 0;
    else if (failed) waitMs = Math.max(waitMs, FAILED_MS);
  }
  return waitMs;
}

async function serveOrSplit(work: DueWork, batch: readonly WorkspaceId[]): Promise<Turn> {
  try {
    const { restMs = 0, ...done } = await work.serve(batch);
    if (restMs > 0) await (work.pause ?? setTimeout)(restMs);
    return { ...done, failed: false };
  } catch (error) {
    if (isAway(error) && !isTimeout(error)) throw error;
    work.onFailure(batch, error);
    if (batch.length === 1) return { served: false, more: [], failed: true, timedOut: isTimeout(error) };
    const turns: Turn[] = [];
    for (const workspaceId of batch) {
      turns.push(await serveOrSplit(work, [workspaceId]));
      if (turns.length >= MAX_TIMEOUTS && turns.slice(-MAX_TIMEOUTS).every(({ timedOut }) => timedOut)) throw error;
    }
    return { served: turns.some(({ served }) => served), more: turns.flatMap(({ more }) => more), failed: true };
  }
}
