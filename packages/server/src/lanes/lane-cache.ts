import { LRUCache } from "lru-cache";
import type { LaneId, LaneKey } from "./lane.ts";
import { readTogether } from "./read-together.ts";

const MAX_LANES = 10_000;

/** A lane as a claim knows it. */
interface LaneOfClaim extends LaneKey {
  readonly revision: number;
}

/**
 * Caches what is read about lanes. Every claim carries the revision of its lane, so that a claim made after a change of its settings never
 * uses older ones, and a change costs one read.
 */
export class LaneCache<Read extends { readonly revision: number }> {
  readonly #read: (lane: LaneKey) => Promise<Read | null>;
  readonly #known = new LRUCache<LaneId, Read>({ max: MAX_LANES });
  readonly #reading = new Map<LaneId, { readonly revision: number; readonly result: Promise<Read | null> }>();

  /** @param read reads a lane. Null: there is no longer anything to use */
  constructor(read: (lane: LaneKey) => Promise<Read | null>) {
    this.#read = read;
  }

  /** What was read about the lane of a claim, if it is cached; otherwise a promise of it. */
  of(claim: LaneOfClaim): Read | Promise<Read | null> {
    const known = this.#known.get(claim.laneId);
    if (known && known.revision >= claim.revision) return known;
    const reading = this.#reading.get(claim.laneId);
    // A read that found nothing counts as being as old as the claim that began it.
    if (reading) return reading.result.then((read) => ((read ?? reading).revision < claim.revision ? this.of(claim) : read));
    const result = this.#readAnew(claim).finally(() => this.#reading.delete(claim.laneId));
    this.#reading.set(claim.laneId, { revision: claim.revision, result });
    return result;
  }

  async #readAnew({ workspaceId, laneId }: LaneKey): Promise<Read | null> {
    this.#known.delete(laneId);
    const read = await this.#read({ workspaceId, laneId });
    if (read) this.#known.set(laneId, read);
    return read;
  }
}

/** How to find the records of lanes, and what to make of one. Null: there is nothing to use. */
interface LaneReader<Found, Read> {
  /** Finds the records of many lanes in one statement. */
  readonly find: (lanes: readonly LaneKey[]) => Promise<readonly Found[]>;
  readonly make: (found: Found) => Read | null;
}

/** Creates a cache of what is made of the records of lanes. */
export function createLaneCache<Found extends { readonly id: LaneId }, Read extends { readonly revision: number }>({
  find,
  make,
}: LaneReader<Found, Read>): LaneCache<Read> {
  const found = readTogether(find);
  return new LaneCache(async (lane) => {
    const one = await found.add(lane);
    return one && make(one);
  });
}
