import { LRUCache } from "lru-cache";
import type { LaneId, LaneKey } from "#lanes";

const MAX_LANES = 10_000;
/** How long the node remembers that workers serve a lane. Milliseconds. */
const FORGET_AFTER_MS = 10_000;

/** Lanes that a claim of this node has found to be served by workers: it need not claim from them again immediately. */
export class PulledLanes {
  readonly #foundMs = new LRUCache<LaneId, number>({ max: MAX_LANES });

  add(laneId: LaneId, nowMs: number): void {
    this.#foundMs.set(laneId, nowMs);
  }

  delete(laneId: LaneId): void {
    this.#foundMs.delete(laneId);
  }

  has({ laneId }: LaneKey, nowMs: number): boolean {
    const foundMs = this.#foundMs.get(laneId);
    return foundMs !== undefined && nowMs - foundMs < FORGET_AFTER_MS;
  }
}
