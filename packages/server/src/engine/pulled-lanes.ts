import { LRUCache } from "lru-cache";
import type { LaneId, LaneKey } from "#lanes";

const MAX_LANES = 10_000;
/** How long the node need not claim from a lane that workers serve. Milliseconds. */
const RECENT_MS = 10_000;

interface PulledLane {
  readonly foundMs: number;
  readonly limited: boolean;
}

/** Lanes that the latest claim of this node has found to be served by workers. */
export class PulledLanes {
  readonly #lanes = new LRUCache<LaneId, PulledLane>({ max: MAX_LANES });

  add(laneId: LaneId, lane: PulledLane): void {
    this.#lanes.set(laneId, lane);
  }

  delete(laneId: LaneId): void {
    this.#lanes.delete(laneId);
  }

  has({ laneId }: LaneKey): boolean {
    return this.#lanes.has(laneId);
  }

  /** Whether the latest claim was a short time ago: the next one need not come immediately. */
  hasRecent({ laneId }: LaneKey, nowMs: number): boolean {
    const foundMs = this.#lanes.get(laneId)?.foundMs;
    return foundMs !== undefined && nowMs - foundMs < RECENT_MS;
  }

  /** Whether the latest claim has found limits. */
  isLimited({ laneId }: LaneKey): boolean {
    return this.#lanes.get(laneId)?.limited ?? false;
  }
}
