import { setTimeout as sleep } from "node:timers/promises";
import type { Tidemill } from "@tidemill/sdk";

/** How often to request the jobs while the service reports changes, in case a notification is lost. Milliseconds. */
const MAX_QUIET_MS = 30_000;

/** Knows when jobs of the workspace may have changed. While the service cannot be followed, that is always. */
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

  /** It ends when the service refuses it, for example because the service is an earlier version. */
  async #follow(tidemill: Pick<Tidemill, "live">): Promise<void> {
    try {
      for await (const event of tidemill.live({ signal: this.#closed.signal })) {
        this.#isFollowing = true;
        if (event.type === "changed" && !event.kinds.includes("jobs")) continue;
        this.#hasChanged = true;
        this.#wake();
      }
    } catch {
      // If more is wrong than this, the next request reports it.
    }
    this.#isFollowing = false;
    this.#wake();
  }
}
