import type { LaneId, LaneKey } from "./lane.ts";

/**
 * Lanes at which passes of a loop have failed. A pass comes to them after the others, and first to those that failed the longest ago: each try
 * may take long, and only some fit into a pass.
 */
export class FailedLanes {
  /** The longest ago first. */
  readonly #ids = new Set<LaneId>();

  add({ laneId }: LaneKey): void {
    this.#ids.delete(laneId);
    this.#ids.add(laneId);
  }

  delete({ laneId }: LaneKey): void {
    this.#ids.delete(laneId);
  }

  /** Divides the lanes that a pass has found, in the order in which it comes to them. Lanes that it has not found are forgotten. */
  divide<Lane extends LaneKey>(found: readonly Lane[]): { readonly others: Lane[]; readonly again: Lane[] } {
    const byId = new Map(found.map((lane) => [lane.laneId, lane]));
    for (const laneId of this.#ids) if (!byId.has(laneId)) this.#ids.delete(laneId);
    const again = [...this.#ids].flatMap((laneId) => byId.get(laneId) ?? []);
    return { others: found.filter(({ laneId }) => !this.#ids.has(laneId)), again };
  }
}
