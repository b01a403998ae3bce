import { LIMITS } from "@tidemill/contract";
import type { AttemptResult } from "#engine";
import { MIN_COUNTED_BYTES } from "#http";
import { FairQueue } from "#kernel";
import { mayHoldTemplates } from "#vault";
import type { FilledPayload } from "./fill-secrets.ts";

/** How many payloads are filled at the same time. Each may grow by `LIMITS.templateGrowthBytes`, so together they grow by at most 2 MiB. */
const MAX_CONCURRENT = 16;
/** When the payloads of a response have grown by this much, it gets no more payloads with secrets. Characters. */
const MAX_GROWN = 2 * 1024 * 1024;

/** The node's memory, as a response and its workspace may use it. */
export interface ResponseMemory {
  /** Whether the workspace has room for this many bytes. */
  readonly hasRoom: (bytes: number) => boolean;
  /** Counts what the response will hold; a negative number reduces it. Bytes. */
  readonly hold: (bytes: number) => void;
}

/** Limits what a response holds: values of secrets to 4 MiB, and values and journals to the workspace's share of the node's memory. */
export class ResponseRoom {
  readonly #memory: ResponseMemory;
  #grown = 0;
  readonly #filling = new FairQueue({ maxConcurrent: MAX_CONCURRENT });

  constructor(memory: ResponseMemory) {
    this.#memory = memory;
  }

  /**
   * Counts this many bytes if the workspace has any room, even if it has less than that. So each journal has its turn. While the workspace
   * has no room, none of its calls claims anything.
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
