import { type DuePosition, FIRST_DUE, type LeftDue, moveDueAcrossWorkspaces, moveLeftDue } from "#jobs";
import type { Db, EmitEvent, LockWaits, Service } from "#kernel";
import type { Waker } from "#lanes";
import { LockedLanes } from "./locked-lanes.ts";

/** A batch of this size takes 7 ms. A batch of 1,000 takes 22 ms, and a due job of another workspace waits for up to two batches. */
const MAX_ROWS = 250;
/** The wait when another node is moving the due jobs, or other transactions have locked all of them or some of their keys. Milliseconds. */
const LOCKED_MS = 50;

/** Moves delayed jobs to `waiting` when they are due. Its stop waits for jobs that are moved beside the passes. */
export class PromoteDelayed implements Service {
  readonly #db: Db;
  readonly #waker: Waker;
  readonly #locked: LockedLanes<LeftDue>;
  #position: DuePosition = FIRST_DUE;

  constructor(db: Db, waker: Waker, lockWaits: LockWaits, emit: EmitEvent) {
    this.#db = db;
    this.#waker = waker;
    const move = async (lane: LeftDue) => {
      if ((await moveLeftDue(db, lane)) > 0) waker.wake([lane]);
    };
    this.#locked = new LockedLanes({ name: "due", move, lockWaits, emit });
  }

  start(): void {}

  stop(): Promise<void> {
    return this.#locked.stop();
  }

  /** Moves one batch. Returns the wait until more are due, in milliseconds: 0 while there may be more, undefined when none is delayed. */
  async pass(): Promise<number | undefined> {
    const { moved, isCrowded, isLocked, next, lanes, left, nextInMs } = await moveDueAcrossWorkspaces(this.#db, MAX_ROWS, this.#position);
    this.#position = next;
    if (lanes.length > 0) this.#waker.wake(lanes);
    this.#locked.add(left);
    if (isLocked) return LOCKED_MS;
    if (isCrowded) return moved > 0 || next.afterWorkspace !== null ? 0 : LOCKED_MS;
    if (left.length > 0) return LOCKED_MS;
    return nextInMs === null ? undefined : Math.max(1, nextInMs);
  }
}
