import { Batcher } from "#kernel";
import type { LaneId, LaneKey } from "./lane.ts";

/**
 * The maximum number of lanes in one read. When it ends, an attempt of each begins in the same turn of the event loop: a new connection
 * takes 0.2 ms.
 */
const MAX_LANES = 20;
const READERS = 1;

/**
 * Reads what belongs to lanes, such as queues, for many lanes in one statement. Attempts of a thousand lanes can begin together, and a
 * statement for each would delay everything that the engine does for other workspaces. Null where nothing was found.
 */
export const readTogether = <OfLane extends { readonly id: LaneId }>(
  read: (lanes: readonly LaneKey[]) => Promise<readonly OfLane[]>,
): Batcher<LaneKey, OfLane | null> =>
  new Batcher({
    maxWeight: MAX_LANES,
    writers: READERS,
    workspaceOf: ({ workspaceId }) => workspaceId,
    write: async (lanes) => {
      const found = new Map((await read(lanes)).map((one) => [one.id, one]));
      return lanes.map(({ laneId }) => found.get(laneId) ?? null);
    },
  });
