import { FROM_THE_START, findLanesWithWorkAcrossWorkspaces, type ScanPosition } from "#jobs";
import type { Clock, Db } from "#kernel";
import type { LaneKey, Waker } from "#lanes";

/** After a scan that found lanes unknown to this node, the next one starts after this many times the scan's duration. */
const REST = 4;

/**
 * Looks for lanes with work that nobody announced to this node: after a start, or when a message was lost. One scan visits a limited number
 * of lanes, with an equal share for each workspace. The next scan continues after them: soon, as long as scans find lanes that the node did
 * not know, otherwise with the next poll.
 */
export class WorkScan {
  readonly #db: Db;
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #waker: Waker & { readonly expects: (lane: LaneKey) => boolean };
  #position: ScanPosition = FROM_THE_START;

  constructor(db: Db, clock: Pick<Clock, "elapsedMs">, waker: Waker & { readonly expects: (lane: LaneKey) => boolean }) {
    this.#db = db;
    this.#clock = clock;
    this.#waker = waker;
  }

  /** Wakes the lanes that it finds. Returns the wait until the next scan in milliseconds; undefined: with the next poll. */
  async pass(): Promise<number | undefined> {
    const beganMs = this.#clock.elapsedMs();
    const { lanes, next } = await findLanesWithWorkAcrossWorkspaces(this.#db, this.#position);
    this.#position = next;
    const hasNew = lanes.some((lane) => !this.#waker.expects(lane));
    this.#waker.wake(lanes, "node");
    const isUnfinished = next.afterWorkspace !== null || next.afterLanes.size > 0;
    return hasNew && isUnfinished ? Math.max(1, REST * (this.#clock.elapsedMs() - beganMs)) : undefined;
  }
}
