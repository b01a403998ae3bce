import type { Claim } from "#jobs";
import type { AttemptMemory } from "./kinds.ts";
import type { LaneShares } from "./lane-shares.ts";

/** What an attempt holds of its node's memory: for the payload of its claim, and for what it has read besides. */
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

  /** Takes no more. Returns how many characters are to be released. */
  end(): number {
    this.#isOver = true;
    return this.#characters;
  }
}
