import { setTimeout } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { isTimeout } from "./database/pool.ts";
import type { WorkspaceId } from "./ids.ts";
import type { LockWaits } from "./lock-waits.ts";
import { isAway } from "./problem.ts";
import type { Service } from "./service.ts";
import { SlowRetries } from "./slow-retries.ts";

/** The wait when other nodes have locked all that is due. Milliseconds. */
const LOCKED_MS = 50;
/** The wait when what is due failed. Milliseconds. */
const FAILED_MS = 1_000;
/** The wait when only workspaces that took too long have something due. When others will have is not known. Milliseconds. */
const SLOW_MS = 250;
/** When this many workspaces in a row take too long, the cause may be the database and not their rows: the round ends. */
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
  /** Whether the batch has one workspace, which took too long. */
  readonly timedOut?: boolean;
}

/** Due work of many workspaces, and how to do a share of it. */
export interface DueWork {
  /** Names the work, among all that waits for locks. */
  readonly name: string;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly lockWaits: LockWaits;
  /** The maximum number of workspaces in one transaction. */
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
 * Does due work of all workspaces, in rounds. Workspaces take turns in batches, so that none waits for thousands of jobs of another. When a
 * batch fails or takes too long, its workspaces are served one by one, so that one workspace's bad or locked row does not keep the others
 * from being served. A workspace that takes too long alone is from then on tried beside the rounds, until it no longer does.
 */
export class RoundRobinLoop implements Service {
  readonly #work: DueWork;
  /** Workspaces that took too long alone, as batches of one. */
  readonly #slow: SlowRetries<WorkspaceId, readonly WorkspaceId[]>;

  constructor(work: DueWork) {
    this.#work = work;
    this.#slow = new SlowRetries({ ...work, retry: (batch) => this.#isSlow(batch) });
  }

  start(): void {}

  /** Begins no more tries beside the rounds, and waits for one that is under way. */
  stop(): Promise<void> {
    return this.#slow.stop();
  }

  /**
   * @returns the wait until there is more to do, in milliseconds: 0 when there is more now, undefined when nothing is planned
   * @throws UNAVAILABLE when the database is unavailable, or too slow for several workspaces in a row
   */
  async round(): Promise<number | undefined> {
    const { clock, maxBatch, roundMs, findNextInMs, findWorkspaces } = this.#work;
    const inMs = await findNextInMs();
    if (inMs === null) return undefined;
    if (inMs > 0) return Math.max(1, inMs);
    const found = new Set(await findWorkspaces());
    this.#slow.keepOnly(found);
    void this.#slow.run();
    const line = [...found].filter((workspaceId) => !this.#slow.has(workspaceId));
    let untilMs = clock.elapsedMs() + roundMs;
    let [hasServed, hasFailed] = [false, false];
    const idleMs = this.#slow.size > 0 ? SLOW_MS : LOCKED_MS;
    while (line.length > 0 && clock.elapsedMs() < untilMs) {
      const beganMs = clock.elapsedMs();
      const { served, failed, more } = await this.#serveOrSplit(line.splice(0, maxBatch));
      line.push(...more);
      // The time of a failed batch does not count, so that the others have all of the round's time. Workspaces that fail wait the longest,
      // and are first in each round.
      if (failed) untilMs += clock.elapsedMs() - beganMs;
      hasServed ||= served;
      hasFailed ||= failed;
    }
    return hasServed ? 0 : hasFailed ? FAILED_MS : idleMs;
  }

  /** Whether a workspace took too long again. If the database is unavailable, the next round finds that out. */
  async #isSlow(batch: readonly WorkspaceId[]): Promise<boolean> {
    const turn = await this.#serveOrSplit(batch).catch(() => null);
    return turn?.timedOut === true;
  }

  async #serveOrSplit(batch: readonly WorkspaceId[]): Promise<Turn> {
    try {
      const { restMs = 0, ...done } = await this.#work.serve(batch);
      if (restMs > 0) await (this.#work.pause ?? setTimeout)(restMs);
      return { ...done, failed: false };
    } catch (error) {
      if (isAway(error) && !isTimeout(error)) throw error;
      this.#work.onFailure(batch, error);
      const [first] = batch;
      if (batch.length === 1 && first) return this.#failed(first, isTimeout(error));
      const turns: Turn[] = [];
      for (const workspaceId of batch) {
        turns.push(await this.#serveOrSplit([workspaceId]));
        if (turns.length >= MAX_TIMEOUTS && turns.slice(-MAX_TIMEOUTS).every(({ timedOut }) => timedOut)) throw error;
      }
      return { served: turns.some(({ served }) => served), more: turns.flatMap(({ more }) => more), failed: true };
    }
  }

  #failed(workspaceId: WorkspaceId, timedOut: boolean): Turn {
    if (timedOut) this.#slow.add(workspaceId, [workspaceId]);
    return { served: false, more: [], failed: true, timedOut };
  }
}
