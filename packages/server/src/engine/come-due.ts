import { type DuePosition, FIRST_DUE, type LeftDue, moveDueAcrossWorkspaces, moveLeftDue } from "#jobs";
import type { Db } from "#kernel";
import type { LaneId, Waker } from "#lanes";

/** A batch of so many takes 7 ms. One of 1,000 takes 22, and a job of another workspace that is due waits for up to two of them. */
const MAX_ROWS = 250;
/** The wait when another node moves what is due, or others have locked all of it, or some of its keys. Milliseconds. */
const LOCKED_MS = 50;

/** Moves delayed jobs to `waiting` when they are due. */
export class PromoteDelayed {
  readonly #db: Db;
  readonly #waker: Waker;
  #position: DuePosition = FIRST_DUE;
  /** Whether a statement waits for keys of a lane. */
  #isWaiting = false;
  #waitedFor: LaneId | undefined;

  constructor(db: Db, waker: Waker) {
    this.#db = db;
    this.#waker = waker;
  }

  /** Moves one batch. Returns the wait until more are due, in milliseconds: 0 while there may be more, undefined when none is delayed. */
  async pass(): Promise<number | undefined> {
    const { moved, isCrowded, isLocked, next, lanes, left, nextInMs } = await moveDueAcrossWorkspaces(this.#db, MAX_ROWS, this.#position);
    this.#position = next;
    if (lanes.length > 0) this.#waker.wake(lanes);
    if (left.length > 0 && !this.#isWaiting) void this.#moveLeft(left);
    if (isLocked) return LOCKED_MS;
    if (isCrowded) return moved > 0 || next.afterWorkspace !== null ? 0 : LOCKED_MS;
    if (left.length > 0) return LOCKED_MS;
    return nextInMs === null ? undefined : Math.max(1, nextInMs);
  }

  /**
   * Moves jobs of one lane whose keys were locked, and waits for these: keys that are always locked again when a batch looks would never be free.
   * Meanwhile batches move others. What it cannot move is left to them, too.
   */
  async #moveLeft(left: readonly LeftDue[]): Promise<void> {
    // In turns.
    const inOrder = left.toSorted((one, other) => one.laneId - other.laneId);
    const lane = inOrder.find(({ laneId }) => laneId > (this.#waitedFor ?? 0)) ?? inOrder[0];
    if (!lane) return;
    this.#isWaiting = true;
    this.#waitedFor = lane.laneId;
    const moved = await moveLeftDue(this.#db, lane).catch(() => 0);
    this.#isWaiting = false;
    if (moved > 0) this.#waker.wake([lane]);
  }
}
