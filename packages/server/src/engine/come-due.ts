import { type DuePosition, FIRST_DUE, type LeftDue, moveDueAcrossWorkspaces, moveLeftDue } from "#jobs";
import type { Db } from "#kernel";
import type { LaneId, Waker } from "#lanes";

/** A batch of this size takes 7 ms. A batch of 1,000 takes 22 ms, and a due job of another workspace waits for up to two batches. */
const MAX_ROWS = 250;
/** The wait when another node is moving the due jobs, or other transactions have locked all of them or some of their keys. Milliseconds. */
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
   * Moves jobs of one lane whose keys were locked, and waits for these keys: otherwise keys that happen to be locked at each batch would
   * never get their turn. In the meantime batches move other jobs. Jobs that this cannot move are left to the batches.
   */
  async #moveLeft(left: readonly LeftDue[]): Promise<void> {
    // Lanes take turns.
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
