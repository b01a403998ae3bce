import { setTimeout as sleep } from "node:timers/promises";
import type { Tidemill } from "@tidemill/sdk";

/** While the service says what changes, one look in this time is enough: a notification may be lost. Milliseconds. */
const MAX_QUIET_MS = 30_000;

/** Says when jobs of the workspace may have changed. While the service cannot be followed, they always may have. */
export class LiveJobs {
  readonly #closed = new AbortController();
  #isFollowing = false;
  #hasChanged = true;
  #wake = () => {};

  constructor(tidemill: Pick<Tidemill, "live">) {
    void this.#follow(tidemill);
  }

  /** Waits until jobs may have changed since it was last called, but at least for `atLeastMs`. */
  async changed(atLeastMs: number): Promise<void> {
    await sleep(atLeastMs);
    if (this.#isFollowing && !this.#hasChanged) {
      const quiet = new AbortController();
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([woken, sleep(MAX_QUIET_MS, undefined, { signal: quiet.signal }).catch(() => {})]);
      quiet.abort();
    }
    this.#hasChanged = false;
  }

  close(): void {
    this.#closed.abort();
  }

  /** It ends when the service refuses it, one of an earlier version for example. */
  async #follow(tidemill: Pick<Tidemill, "live">): Promise<void> {
    try {
      for await (const event of tidemill.live({ signal: this.#closed.signal })) {
        this.#isFollowing = true;
        if (event.type === "changed" && !event.kinds.includes("jobs")) continue;
        this.#hasChanged = true;
        this.#wake();
      }
    } catch {
      // The next look says what is wrong, if it is more than this.
    }
    this.#isFollowing = false;
    this.#wake();
  }
}
