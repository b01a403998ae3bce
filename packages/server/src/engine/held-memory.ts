import type { Claim } from "#jobs";
import type { AttemptMemory } from "./kinds.ts";
import type { LaneShares } from "./lane-shares.ts";

/** The memory of the node that an attempt holds: for the payload of its claim, and for everything else that it has read. */
export class HeldMemory implements AttemptMemory {
  readonly #claim: Claim;
  readonly #lanes: LaneShares;
  #characters: number;
  #isOver = false;

  constructor(claim: Claim, lanes: LaneShares) {
    this.#claim = claim;
    this.#lanes = lanes;
    this.#characters = claim.payload.length;
  }

  tryTake(characters: number): boolean {
    if (this.#isOver || !this.#lanes.tryTakeMore(this.#claim, characters)) return false;
    this.#characters += characters;
    return true;
  }

  /** Ends the taking of memory. Returns how many characters are to be released. */
  end(): number {
    this.#isOver = true;
    return this.#characters;
  }
}
