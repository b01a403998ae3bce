import { Connection, type LiveState } from "./connection.ts";
import { holdTabLock } from "./tab-lock.ts";

/** The messages of the tab that has the connection to the others. */
type Told = { readonly state: LiveState } | { readonly kinds: readonly string[] | null } | { readonly asks: true };

export interface TabGroupOptions {
  readonly url: string;
  readonly onState: (state: LiveState) => void;
  readonly onChange: (kinds: readonly string[] | null) => void;
}

/** The tabs of a browser that show the same workspace. One of the visible tabs has the connection, and notifies the others. */
export class TabGroup {
  readonly #options: TabGroupOptions;
  readonly #channel: BroadcastChannel;
  readonly #left = new AbortController();
  #connection: Connection | null = null;
  #state: LiveState | null = null;

  constructor(options: TabGroupOptions) {
    this.#options = options;
    const name = `tidemill ${options.url}`;
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }: MessageEvent<Told>) => this.#hear(data);
    this.#tell({ asks: true });
    holdTabLock(name, this.#left.signal, (lost) => {
      this.#connect();
      lost.addEventListener("abort", () => this.#disconnect(), { once: true });
    });
  }

  /** The tab is hidden or closed, or shows something else. Another one gets the connection. */
  leave(): void {
    this.#left.abort();
    this.#disconnect();
    this.#channel.close();
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

  #disconnect(): void {
    this.#connection?.close();
    this.#connection = null;
  }

  #hear(told: Told): void {
    if ("asks" in told) {
      if (this.#connection && this.#state) this.#tell({ state: this.#state });
    } else if ("state" in told) this.#options.onState(told.state);
    else this.#options.onChange(told.kinds);
  }

  #tell(told: Told): void {
    if (!this.#left.signal.aborted) this.#channel.postMessage(told);
  }
}
