import { Socket } from "node:net";
import pg from "pg";
import { after } from "../after.ts";
import type { EmitEvent } from "../events.ts";
import { type Connection, clientConfig, KEEP_ALIVE_MS } from "./pool.ts";
import { isTooManyConnections } from "./pool-group.ts";

const RECONNECT_MS = 1_000;
/** How long a server may take to close the connection. A frozen server never does. */
const CLOSE_SECONDS = 1;

/**
 * Listens to one channel on its own connection, and reconnects whenever the connection breaks. Calls `onGap` after each reconnect, because
 * notifications sent before it are lost. The first connect needs no call: `DuePoll` starts after it.
 */
export class Listener {
  readonly #connection: Connection;
  readonly #channel: string;
  readonly #emit: EmitEvent;
  readonly #onMessage: (payload: string) => void;
  readonly #onGap: () => void;
  readonly #makeRoom: () => Promise<unknown>;
  #client: pg.Client | undefined;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: {
    connection: Connection;
    channel: string;
    emit: EmitEvent;
    onMessage: (payload: string) => void;
    onGap: () => void;
    /** Called when PostgreSQL refuses the connection because too many are open. */
    makeRoom?: () => Promise<unknown>;
  }) {
    this.#connection = options.connection;
    this.#channel = options.channel;
    this.#emit = options.emit;
    this.#onMessage = options.onMessage;
    this.#onGap = options.onGap;
    this.#makeRoom = options.makeRoom ?? (async () => {});
  }

  start(): Promise<void> {
    return this.#connect();
  }

  async #connect(onConnected?: () => void): Promise<void> {
    const socket = new Socket();
    const client = new pg.Client({
      ...clientConfig(this.#connection),
      keepAlive: true,
      // Firewalls forget connections that are idle for some minutes, and this one only listens.
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      connectionTimeoutMillis: 5_000,
      stream: () => socket,
    });
    this.#client = client;
    this.#socket = socket;
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, null));
    client.on("notification", ({ payload }) => this.#onMessage(payload ?? ""));
    try {
      await client.connect();
      await client.query(`listen ${pg.escapeIdentifier(this.#channel)}`);
      onConnected?.();
    } catch (error) {
      if (isTooManyConnections(error)) await this.#makeRoom();
      this.#lost(client, error);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await Promise.race([this.#client?.end().catch(() => {}), after(CLOSE_SECONDS)]);
    this.#socket?.destroy();
  }

  #lost(client: pg.Client, error: unknown): void {
    if (this.#stopped || this.#client !== client) return;
    this.#client = undefined;
    this.#emit("listener_lost", { error });
    void client.end().catch(() => {});
    this.#socket?.destroy();
    this.#timer = setTimeout(() => void this.#connect(this.#onGap), RECONNECT_MS);
  }
}
