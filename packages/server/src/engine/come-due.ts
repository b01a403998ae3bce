import { type DuePosition, FIRST_DUE, moveDueAcrossWorkspaces } from "#jobs";
import type { Db } from "#kernel";
import type { Waker } from "#lanes";

/** A batch of so many takes 7 ms. One of 1,000 takes 22, and a job of another workspace that is due waits for up to two of them. */
const MAX_ROWS = 250;
/** The wait when another node moves what is due, or others have locked all of it. Milliseconds. */
const LOCKED_MS = 50;

/** Moves delayed jobs to `waiting` when they are due. */
export class ComeDue {
  readonly #db: Db;
  readonly #waker: Waker;
  #position: DuePosition = FIRST_DUE;

  constructor(db: Db, waker: Waker) {
    this.#db = db;
    this.#waker = waker;
  }

  /** Moves one batch. Returns the wait until more are due, in milliseconds: 0 while there may be more, undefined when none is delayed. */
  async pass(): Promise<number | undefined> {
    const { moved, isCrowded, isLocked, next, lanes, nextInMs } = await moveDueAcrossWorkspaces(this.#db, MAX_ROWS, this.#position);
    this.#position = next;
    if (lanes.length > 0) this.#waker.wake(lanes);
    if (isLocked) return LOCKED_MS;
    if (isCrowded) return moved > 0 || next.afterWorkspace !== null ? 0 : LOCKED_MS;
    return nextInMs === null ? undefined : Math.max(1, nextInMs);
  }
}
