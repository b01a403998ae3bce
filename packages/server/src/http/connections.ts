import type { Socket } from "node:net";
import type { Clock, EmitEvent } from "#kernel";
import type { Api } from "./api.ts";

export interface ConnectionsOptions {
  readonly listener: "public" | "internal";
  /** The most connections that are open at once. */
  readonly max: number;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly emit: EmitEvent;
}

interface Connection {
  readonly socket: Socket;
  /** Whether it sent a valid key, or the operator's token. */
  keyed: boolean;
  requests: number;
  busySinceMs: number;
  /** The line in which it waits to give way, if it may. */
  line: Set<Connection> | null;
}

/** A request without a key takes less, unless its response is not read. Milliseconds. */
const MAX_STRANGER_MS = 30_000;
/** Milliseconds. */
const REPORT_EVERY_MS = 10_000;

/**
 * Limits the open connections of a listener. At the limit, the oldest idle connection gives way to a new one: first those that never
 * sent a valid key. Connections with a request in progress stay. When none is idle, the new one is closed.
 */
class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, Connection>();
  /** Each in the order in which its connections entered it. */
  readonly #idleStrangers = new Set<Connection>();
  readonly #busyStrangers = new Set<Connection>();
  readonly #idleKeyed = new Set<Connection>();
  #refused = 0;
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  add(socket: Socket): void {
    if (this.#open.size >= this.#options.max && !this.#makeRoom()) {
      this.#refuse(socket);
      return;
    }
    const connection: Connection = { socket, keyed: false, requests: 0, busySinceMs: 0, line: null };
    this.#open.set(socket, connection);
    this.#enterLine(connection);
    socket.once("close", () => this.#remove(connection));
  }

  beginRequest(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (!connection) return;
    connection.requests += 1;
    if (connection.requests > 1) return;
    connection.busySinceMs = this.#options.clock.elapsedMs();
    this.#enterLine(connection);
  }

  endRequest(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (!connection) return;
    connection.requests -= 1;
    if (connection.requests === 0) this.#enterLine(connection);
  }

  /** The connection sent a valid key. */
  recognise(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (!connection || connection.keyed) return;
    connection.keyed = true;
    this.#enterLine(connection);
  }

  #enterLine(connection: Connection): void {
    connection.line?.delete(connection);
    connection.line = this.#lineOf(connection);
    connection.line?.add(connection);
  }

  #lineOf({ keyed, requests }: Connection): Set<Connection> | null {
    if (requests === 0) return keyed ? this.#idleKeyed : this.#idleStrangers;
    return keyed ? null : this.#busyStrangers;
  }

  /** Returns false when no connection can give way. */
  #makeRoom(): boolean {
    const [stranger] = this.#idleStrangers;
    const [keyed] = this.#idleKeyed;
    const connection = stranger ?? this.#overdueStranger() ?? keyed;
    if (!connection) return false;
    this.#remove(connection);
    connection.socket.destroy();
    return true;
  }

  #overdueStranger(): Connection | undefined {
    const [oldest] = this.#busyStrangers;
    return oldest && this.#options.clock.elapsedMs() - oldest.busySinceMs >= MAX_STRANGER_MS ? oldest : undefined;
  }

  #remove(connection: Connection): void {
    connection.line?.delete(connection);
    this.#open.delete(connection.socket);
  }

  #refuse(socket: Socket): void {
    const { clock, emit, listener, max } = this.#options;
    socket.destroy();
    this.#refused += 1;
    const nowMs = clock.elapsedMs();
    if (nowMs - this.#reportedMs < REPORT_EVERY_MS) return;
    emit("connections_refused", { listener, max, count: this.#refused });
    this.#reportedMs = nowMs;
    this.#refused = 0;
  }
}

/** Limits the connections of a listener. To be called when its hooks for authentication are there. */
export function limitConnections(api: Api, options: ConnectionsOptions): void {
  const connections = new Connections(options);
  api.server.on("connection", (socket: Socket) => connections.add(socket));
  api.server.on("request", ({ socket }, response) => {
    connections.beginRequest(socket);
    response.once("close", () => connections.endRequest(socket));
  });
  api.addHook("onRequest", (request, _reply, done) => {
    if (request.principal || request.routeOptions.config.access === "operator") connections.recognise(request.raw.socket);
    done();
  });
}
