import type { Ask } from "./plan-claim.ts";
import type { PolledLane } from "./poll.ts";
import type { PolledLanes } from "./polled-lanes.ts";

/** How to claim from a slow lane. */
interface SlowClaim {
  readonly hasRoom: (lane: PolledLane) => boolean;
  readonly claim: (ask: Ask) => Promise<void>;
  readonly onFailed: (ask: Ask, error: unknown) => void;
}

/**
 * Lanes whose last claim took too long, alone or together with others. Claims from them are made one by one, separate from all others, so
 * that a slow lane delays no other lane.
 */
export class SlowLanes {
  readonly #polled: Pick<PolledLanes, "has">;
  /** The lane to claim from next is the first. */
  readonly #lanes = new Set<PolledLane>();
  #isClaiming = false;

  constructor(polled: Pick<PolledLanes, "has">) {
    this.#polled = polled;
  }

  has(lane: PolledLane): boolean {
    return this.#lanes.has(lane);
  }

  add(lane: PolledLane): void {
    this.#lanes.add(lane);
  }

  /**
   * Claims from one lane, unless such a claim is under way. If it succeeds, the lane is no longer slow.
   *
   * @returns whether it has claimed, successfully or not
   */
  async claimFromNext({ hasRoom, claim, onFailed }: SlowClaim): Promise<boolean> {
    const ask = this.#isClaiming ? null : this.#plan(hasRoom);
    if (!ask) return false;
    this.#isClaiming = true;
    try {
      await claim(ask);
      this.#lanes.delete(ask.lane);
    } catch (error) {
      // The other slow lanes come first.
      this.#lanes.delete(ask.lane);
      this.#lanes.add(ask.lane);
      onFailed(ask, error);
    }
    this.#isClaiming = false;
    return true;
  }

  /** What to claim: one job, for the poll that has waited longest, in a claim of its own. Removes lanes that were forgotten. */
  #plan(hasRoom: SlowClaim["hasRoom"]): Ask | null {
    for (const lane of this.#lanes) {
      if (!this.#polled.has(lane)) this.#lanes.delete(lane);
      const poll = lane.mayHaveJobs && hasRoom(lane) && [...lane.polls].find(({ claiming }) => !claiming);
      if (poll) return { poll, lane, take: 1, wakes: lane.wakes };
    }
    return null;
  }
}
