import type { LaneId } from "#lanes";

/**
 * Lanes in which a settlement timed out: another transaction may have locked a row for long. A lane stays slow until a settlement of it is written
 * alone in time, while none is blocked.
 */
export class SlowSettles {
  /** How many settlements of each slow lane are blocked. */
  readonly #blocked = new Map<LaneId, number>();

  has(laneId: LaneId): boolean {
    return this.#blocked.has(laneId);
  }

  /** @param isBlocked whether the settlement timed out alone, so that a row of it may be locked */
  add(laneId: LaneId, isBlocked: boolean): void {
    this.#blocked.set(laneId, (this.#blocked.get(laneId) ?? 0) + (isBlocked ? 1 : 0));
  }

  /** A settlement of the lane that was not blocked was written in time. */
  wasInTime(laneId: LaneId): void {
    if (this.#blocked.get(laneId) === 0) this.#blocked.delete(laneId);
  }

  /** A settlement of the lane is no longer blocked. */
  unblock(laneId: LaneId): void {
    const others = (this.#blocked.get(laneId) ?? 1) - 1;
    if (others > 0) this.#blocked.set(laneId, others);
    else this.#blocked.delete(laneId);
  }
}
