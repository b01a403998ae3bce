import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Clock, type EmitEvent, PeriodicReport, type SharedResource, type WorkspaceId } from "#kernel";

export interface ConnectionsOptions {
  readonly listener: "public" | "internal";
  /** The maximum number of open connections. */
  readonly max: number;
  readonly clock: Pick<Clock, "elapsedMs">;
  readonly emit: EmitEvent;
  /** Limits connections with a request in progress, by workspace. Without it, one workspace may use all of them. */
  readonly share?: SharedResource;
}

interface Connection {
  readonly socket: Socket;
  /** Whether the connection sent a valid key, or the operator's token. */
  authenticated: boolean;
  /** The workspace of the requests in progress. */
  workspaceId: WorkspaceId | null;
  requests: number;
  busySinceMs: number;
  /** The line in which it waits to give way, if it may. */
  line: Set<Connection> | null;
}

/**
 * The maximum duration of an unauthenticated request. It takes longer only if its body does not come or its response is not read.
 * Milliseconds.
 */
const MAX_UNAUTHENTICATED_MS = 5_000;
/**
 * How many requests of a connection may be in progress. A client that sends more before it has read responses is disconnected: thousands
 * fit into one read, and would all be served before any request of others.
 */
const MAX_PIPELINED = 16;

/**
 * Limits the open connections of a listener. At the limit, the oldest idle connection gives way to a new one: first those that never
 * sent a valid key. Connections with a request in progress stay. When none is idle, the new one is closed.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, Connection>();
  /** Lines of idle connections, each in the order in which the connections became idle. */
  readonly #idleUnauthenticated = new Set<Connection>();
  readonly #busyUnauthenticated = new Set<Connection>();
  readonly #idleAuthenticated = new Set<Connection>();
  readonly #refused = new PeriodicReport();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** The listener of a server's requests, which passes on those that may be served. */
  listenerOf(serve: RequestListener): RequestListener {
    return (request, response) => {
      if (this.#begin(request, response)) serve(request, response);
    };
  }

  /** Limits the connections of a server. */
  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#add(socket));
  }

  /**
   * A request has a valid key, or the operator's token.
   *
   * @throws UNAVAILABLE when its workspace has too many connections with a request in progress
   */
  admit({ principal, route, raw }: FastifyRequest, reply: FastifyReply): void {
    if (!principal && route.config.access !== "operator") return;
    try {
      this.#authenticate(raw.socket, principal?.workspaceId ?? null);
    } catch (error) {
      void reply.header("connection", "close");
      throw error;
    }
  }

  /** Begins a request. Pipelined requests of a connection that has ended are not served. */
  #begin({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#open.get(socket);
    if (socket.destroyed || !connection) return false;
    if (connection.requests >= MAX_PIPELINED) {
      socket.destroy();
      return false;
    }
    this.#beginRequest(connection);
    // `on` suffices, because the event is emitted once. `once` would wrap the listener and remove it.
    response.on("close", () => this.#endRequest(connection));
    return true;
  }

  #add(socket: Socket): void {
    if (this.#open.size >= this.#options.max && !this.#makeRoom()) {
      this.#refuse(socket);
      return;
    }
    const connection: Connection = { socket, authenticated: false, workspaceId: null, requests: 0, busySinceMs: 0, line: null };
    this.#open.set(socket, connection);
    this.#enterLine(connection);
    socket.once("close", () => this.#remove(connection));
  }

  #beginRequest(connection: Connection): void {
    connection.requests += 1;
    if (connection.requests > 1) return;
    connection.busySinceMs = this.#options.clock.elapsedMs();
    this.#enterLine(connection);
  }

  #endRequest(connection: Connection): void {
    if (!this.#open.has(connection.socket)) return;
    connection.requests -= 1;
    if (connection.requests > 0) return;
    this.#release(connection);
    this.#enterLine(connection);
  }

  #authenticate(socket: Socket, workspaceId: WorkspaceId | null): void {
    const connection = this.#open.get(socket);
    if (!connection) return;
    if (workspaceId !== null && connection.workspaceId === null) {
      this.#options.share?.takeOrRefuse(workspaceId);
      connection.workspaceId = workspaceId;
    }
    if (connection.authenticated) return;
    connection.authenticated = true;
    this.#enterLine(connection);
  }

  #release(connection: Connection): void {
    if (connection.workspaceId === null) return;
    this.#options.share?.release(connection.workspaceId);
    connection.workspaceId = null;
  }

  #enterLine(connection: Connection): void {
    connection.line?.delete(connection);
    connection.line = this.#lineOf(connection);
    connection.line?.add(connection);
  }

  #lineOf({ authenticated, requests }: Connection): Set<Connection> | null {
    if (requests === 0) return authenticated ? this.#idleAuthenticated : this.#idleUnauthenticated;
    return authenticated ? null : this.#busyUnauthenticated;
  }

  /** Returns false when no connection can give way. */
  #makeRoom(): boolean {
    const [unauthenticated] = this.#idleUnauthenticated;
    const [authenticated] = this.#idleAuthenticated;
    const connection = unauthenticated ?? this.#overdue() ?? authenticated;
    if (!connection) return false;
    this.#remove(connection);
    connection.socket.destroy();
    return true;
  }

  #overdue(): Connection | undefined {
    const [oldest] = this.#busyUnauthenticated;
    return oldest && this.#options.clock.elapsedMs() - oldest.busySinceMs >= MAX_UNAUTHENTICATED_MS ? oldest : undefined;
  }

  #remove(connection: Connection): void {
    connection.line?.delete(connection);
    if (this.#open.delete(connection.socket)) this.#release(connection);
  }

  #refuse(socket: Socket): void {
    const { clock, emit, listener, max } = this.#options;
    socket.destroy();
    this.#refused.count(clock.elapsedMs(), (count) => emit("connections_refused", { listener, max, count }));
  }
}
