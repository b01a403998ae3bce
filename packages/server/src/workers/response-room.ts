import type { AttemptResult } from "#engine";
import { FairQueue } from "#kernel";
import { mayHoldTemplates } from "#vault";
import type { FilledPayload } from "./fill-secrets.ts";

/** How many payloads are filled at once. Each may grow by `LIMITS.templateGrowthBytes`, so together they grow by 2 MiB. */
const MAX_AT_ONCE = 16;
/** When its payloads have grown by this, a response gets no more of them. Characters. */
const MAX_GROWN = 2 * 1024 * 1024;

/** Bounds what the values of secrets add to one response: 4 MiB. */
export class ResponseRoom {
  #grown = 0;
  readonly #filling = new FairQueue({ maxAtOnce: MAX_AT_ONCE });

  /** Fills a payload, or withdraws its attempt because the response has no room. */
  async fill(text: string, work: () => Promise<FilledPayload | AttemptResult>): Promise<FilledPayload | AttemptResult> {
    if (!mayHoldTemplates(text)) return work();
    return this.#filling.run("", async () => {
      if (this.#grown >= MAX_GROWN) return { kind: "withdrawn" };
      const filled = await work();
      if ("payload" in filled) this.#grown += filled.payload.length - text.length;
      return filled;
    });
  }
}
