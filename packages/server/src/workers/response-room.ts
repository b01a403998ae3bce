import { LIMITS } from "@tidemill/contract";
import type { AttemptResult } from "#engine";
import { MIN_COUNTED_BYTES } from "#http";
import { FairQueue } from "#kernel";
import { mayHoldTemplates } from "#vault";
import type { FilledPayload } from "./fill-secrets.ts";

/** How many payloads are filled at once. Each may grow by `LIMITS.templateGrowthBytes`, so together they grow by 2 MiB. */
const MAX_CONCURRENT = 16;
/** When its payloads have grown by this, a response gets no more of them. Characters. */
const MAX_GROWN = 2 * 1024 * 1024;

/** What a response and its workspace have of the node's memory. */
export interface ResponseMemory {
  /** Whether the workspace has room for this many bytes. */
  readonly hasRoom: (bytes: number) => boolean;
  /** Counts what the response will hold; a negative number reduces it. Bytes. */
  readonly hold: (bytes: number) => void;
}

/** Bounds what a response holds: values of secrets to 4 MiB, and these and journals to the workspace's share of the node's memory. */
export class ResponseRoom {
  readonly #memory: ResponseMemory;
  #grown = 0;
  readonly #filling = new FairQueue({ maxConcurrent: MAX_CONCURRENT });

  constructor(memory: ResponseMemory) {
    this.#memory = memory;
  }

  /**
   * Counts so many bytes if the workspace has any room: it may be less than that. So each journal has its turn, and while the workspace has
   * no room, no call of it claims.
   */
  admit(bytes: number): boolean {
    const { hasRoom, hold } = this.#memory;
    if (bytes >= MIN_COUNTED_BYTES && !hasRoom(1)) return false;
    hold(bytes);
    return true;
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
