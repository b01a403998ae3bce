import type { Rate } from "./request-rate-store.ts";

const SLOT_MS = 500;
const SLOTS = 122;

/** Requests of one workspace that a node has granted lately, in the same slots as the store's (`request_rate` in migration 0003). */
export class RecentRequests {
  /** Requests in each of the last slots. The last element is for `#slot`. */
  readonly #hits = new Uint32Array(SLOTS);
  #slot = 0;

  add(nowMs: number, requests: number): void {
    this.#moveTo(Math.floor(nowMs / SLOT_MS));
    this.#hits[SLOTS - 1] = this.#last + requests;
  }

  look(nowMs: number, limit: number): Rate {
    this.#moveTo(Math.floor(nowMs / SLOT_MS));
    const used = this.#hits.reduce((sum, hits) => sum + hits, 0);
    let freed = 0;
    let more = 0;
    let all = 0;
    for (const [index, hits] of this.#hits.entries()) {
      freed += hits;
      if (more === 0 && freed > Math.max(0, used - limit)) more = index + 1;
      if (hits > 0) all = index + 1;
    }
    return {
      remaining: Math.max(0, limit - used),
      moreAtMs: (this.#slot + (more || SLOTS)) * SLOT_MS,
      resetsAtMs: (this.#slot + all) * SLOT_MS,
    };
  }

  get #last(): number {
    return this.#hits[SLOTS - 1] ?? 0;
  }

  /** If the clock is set back a little, requests count in the latest slot until the clock reaches it again. */
  #moveTo(slot: number): void {
    const passed = slot - this.#slot;
    if (passed <= 0 && passed >= -SLOTS) return;
    if (passed > 0) this.#hits.copyWithin(0, passed);
    this.#hits.fill(0, passed > 0 ? Math.max(0, SLOTS - passed) : 0);
    this.#slot = slot;
  }
}
