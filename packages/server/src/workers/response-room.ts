import { LIMITS } from "@tidemill/contract";
import type { AttemptResult } from "#engine";
import { FairQueue } from "#kernel";
import { mayHoldTemplates } from "#vault";
import type { FilledPayload } from "./fill-secrets.ts";

/** How many payloads are filled at once. Each may grow by `LIMITS.templateGrowthBytes`, so together they grow by 2 MiB. */
const MAX_AT_ONCE = 16;
/** When its payloads have grown by this, a response gets no more of them. Characters. */
const MAX_GROWN = 2 * 1024 * 1024;

/** What a response and its workspace have of the node's memory. */
interface RoomForSecrets {
  /** Whether the workspace has room for this many bytes. */
  readonly hasRoom: (bytes: number) => boolean;
  /** Counts what the response will hold; a negative number reduces it. Bytes. */
  readonly hold: (bytes: number) => void;
}

/** Bounds what the values of secrets add to one response: 4 MiB, and the workspace's share of the node's memory. */
export class ResponseRoom {
  readonly #memory: RoomForSecrets;
  #grown = 0;
  readonly #filling = new FairQueue({ maxAtOnce: MAX_AT_ONCE });

  constructor(memory: RoomForSecrets) {
    this.#memory = memory;
  }

  /** Fills a payload, or withdraws its attempt because the response has no room. */
  async fill(text: string, work: () => Promise<FilledPayload | AttemptResult>): Promise<FilledPayload | AttemptResult> {
    if (!mayHoldTemplates(text)) return work();
    return this.#filling.run("", async () => {
      const { hasRoom, hold } = this.#memory;
      if (this.#grown >= MAX_GROWN || !hasRoom(LIMITS.templateGrowthBytes)) return { kind: "withdrawn" };
      hold(LIMITS.templateGrowthBytes);
      let grown = 0;
      try {
        const filled = await work();
        if ("payload" in filled) grown = filled.payload.length - text.length;
        return filled;
      } finally {
        this.#grown += grown;
        hold(grown - LIMITS.templateGrowthBytes);
      }
    });
  }
}
