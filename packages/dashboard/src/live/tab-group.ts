import { Connection, type LiveState } from "./connection.ts";

/** What the tab with the connection tells the others. */
type Told = { readonly state: LiveState } | { readonly kinds: readonly string[] | null } | { readonly asks: true };

export interface TabGroupOptions {
  readonly url: string;
  readonly onState: (state: LiveState) => void;
  readonly onChange: (kinds: readonly string[] | null) => void;
}

/**
 * The tabs of a browser that show the same workspace. One of those that can be seen has the connection, and tells the others. Without Web
 * Locks, which browsers have only over HTTPS and on localhost, each tab that can be seen has its own.
 */
export class TabGroup {
  readonly #options: TabGroupOptions;
  readonly #channel: BroadcastChannel | null;
  readonly #left = new AbortController();
  #connection: Connection | null = null;
  #state: LiveState | null = null;

  constructor(options: TabGroupOptions) {
    this.#options = options;
    if (!navigator.locks || typeof BroadcastChannel === "undefined") {
      this.#channel = null;
      this.#connect();
      return;
    }
    const name = `tidemill ${options.url}`;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<Told>) => this.#hear(data);
    this.#tell({ asks: true });
    navigator.locks
      .request(name, { signal: this.#left.signal }, () => this.#lead())
      // Left while it waited.
      .catch(() => {});
  }

  /** The tab is hidden or closed, or shows something else. Another one gets the connection. */
  leave(): void {
    this.#left.abort();
    this.#connection?.close();
    this.#channel?.close();
  }

  /** Holds the lock until this tab leaves. */
  #lead(): Promise<void> {
    if (this.#left.signal.aborted) return Promise.resolve();
    this.#connect();
    return new Promise((resolve) => this.#left.signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  #connect(): void {
    const { url, onState, onChange } = this.#options;
    this.#connection = new Connection({
      url,
      onState: (state) => {
        this.#state = state;
        this.#tell({ state });
        onState(state);
      },
      onChange: (kinds) => {
        this.#tell({ kinds });
        onChange(kinds);
      },
    });
  }

  #hear(told: Told): void {
    if ("asks" in told) {
      if (this.#connection && this.#state) this.#tell({ state: this.#state });
    } else if ("state" in told) this.#options.onState(told.state);
    else this.#options.onChange(told.kinds);
  }

  #tell(told: Told): void {
    if (!this.#left.signal.aborted) this.#channel?.postMessage(told);
  }
}
