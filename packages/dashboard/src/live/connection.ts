import { ApiError } from "../api/api-error.ts";
import { chance } from "./chance.ts";
import { readEvents } from "./read-events.ts";

/** How changes come: as they happen, by asking from time to time, or not at all. */
export type LiveState = "live" | "polling" | "offline";

export interface ConnectionOptions {
  readonly url: string;
  readonly onState: (state: LiveState) => void;
  /** Records of these kinds have changed. Null: anything may have. */
  readonly onChange: (kinds: readonly string[] | null) => void;
}

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;
/** A stream that lasted at least this long probably ended because its node stopped, so it is soon opened again. Milliseconds. */
const LASTING_MS = 10_000;

/** Keeps a stream of changes open, until it is closed. If that fails, it tries again, less and less often. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #closed = new AbortController();
  #wake = () => {};
  #cut = () => {};

  constructor(options: ConnectionOptions) {
    this.#options = options;
    window.addEventListener("online", this.#online);
    window.addEventListener("offline", this.#offline);
    void this.#keep();
  }

  close(): void {
    window.removeEventListener("online", this.#online);
    window.removeEventListener("offline", this.#offline);
    this.#closed.abort();
    this.#wake();
  }

  readonly #online = () => this.#wake();
  /** The machine has no network, which the stream does not report. */
  readonly #offline = () => this.#cut();

  async #keep(): Promise<void> {
    const { url, onState, onChange } = this.#options;
    const { signal } = this.#closed;
    for (let failures = 0; !signal.aborted; ) {
      const cut = new AbortController();
      this.#cut = () => cut.abort();
      let openedAt: number | null = null;
      let error: unknown = null;
      try {
        await readEvents(url, {
          signal: AbortSignal.any([signal, cut.signal]),
          onOpen: () => {
            openedAt = performance.now();
            onState("live");
            // What changed before is not known.
            onChange(null);
          },
          onKinds: onChange,
        });
      } catch (thrown) {
        error = thrown;
      }
      if (signal.aborted) return;
      const lasted = openedAt !== null && performance.now() - openedAt > LASTING_MS;
      failures = lasted ? 0 : failures + 1;
      const isSilent = cut.signal.aborted || (error instanceof ApiError && error.code === "SILENT");
      // A stream that ended normally, or broke once, is opened again before anybody notices.
      if (failures > 1 || openedAt === null || isSilent) onState(error instanceof ApiError && error.status > 0 ? "polling" : "offline");
      await this.#rest(waitMs(failures, error));
    }
  }

  #rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** A random part spreads tabs that lost the same node. */
function waitMs(failures: number, error: unknown): number {
  const backoff = Math.min(FIRST_RETRY_MS * 2 ** Math.max(0, failures - 1), MAX_RETRY_MS) * (0.5 + chance());
  const asked = error instanceof ApiError && error.retryAfterSeconds !== null ? error.retryAfterSeconds * 1_000 : 0;
  return Math.max(backoff, asked * (1 + chance() / 4));
}
