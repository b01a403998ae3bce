import type { Deadline } from "../deadline.ts";
import type { Socket } from "./node.ts";
import { ResponseParser, type WholeResponse } from "./response-parser.ts";

/** How long a connection may take to open, as with `fetch`. Milliseconds. */
const CONNECT_MS = 10_000;

/** `code` of the error of a connection that took longer. */
export const CONNECT_TIMEOUT = "CONNECT_TIMEOUT";

/**
 * An idle connection is probed by the kernel each second, so that a call that waits fails 11 s after its node has vanished. Milliseconds.
 */
const FIRST_PROBE_MS = 1_000;

interface ConnectionEvents {
  /** It can take a request again. */
  onFree(connection: Connection): void;
  /** It never can. */
  onClose(connection: Connection): void;
}

interface PendingRequest {
  readonly parser: ResponseParser;
  readonly resolve: (response: WholeResponse) => void;
  readonly reject: (error: Error) => void;
}

/** A connection to a server, for one request after the other. */
export class Connection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  #pending: PendingRequest | undefined;
  /** When the server closes it, by `performance.now()`, if it is idle until then. */
  #closesMs = Number.POSITIVE_INFINITY;
  #isClosed = false;

  /** @param opened the event of the socket when it can be used */
  constructor(socket: Socket, opened: "connect" | "secureConnect", events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, FIRST_PROBE_MS);
    const onConnectTimeout = () => this.#fail(Object.assign(new Error(`No connection in ${CONNECT_MS} ms.`), { code: CONNECT_TIMEOUT }));
    const timer = setTimeout(onConnectTimeout, CONNECT_MS);
    socket.on(opened, () => clearTimeout(timer));
    socket.on("data", (bytes) => {
      if (!this.#pending) return this.close();
      try {
        if (this.#pending.parser.read(bytes)) this.#finish();
      } catch (error) {
        this.#fail(error as Error);
      }
    });
    socket.on("end", () => {
      if (this.#pending?.parser.end()) this.#finish();
      else this.#fail(connectionClosed());
    });
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => {
      clearTimeout(timer);
      this.#fail(connectionClosed());
    });
  }

  /** Whether it has been idle for so long that the server is about to close it. */
  get hasExpired(): boolean {
    return performance.now() >= this.#closesMs;
  }

  /**
   * Sends a request, and reads its response. The connection must not be in use.
   *
   * @param request its head and body
   * @param deadline ends it without a response
   */
  send(request: string, deadline: Pick<Deadline, "onAbort">): Promise<WholeResponse> {
    return new Promise((resolve, reject) => {
      const pending = { parser: new ResponseParser(), resolve, reject };
      this.#pending = pending;
      deadline.onAbort(() => {
        if (this.#pending === pending) this.#fail(new Error("The request was ended."));
      });
      this.#socket.ref();
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#fail(connectionClosed());
  }

  #finish(): void {
    const { parser, resolve } = this.#pending as PendingRequest;
    this.#pending = undefined;
    resolve(parser.response);
    // A server that responds before it has read the whole request may not read the rest of it.
    if (parser.keepsOpen && this.#socket.writableLength === 0) {
      this.#closesMs = performance.now() + parser.idleMs;
      this.#socket.unref();
      this.#events.onFree(this);
    } else this.close();
  }

  #fail(error: Error): void {
    this.#pending?.reject(error);
    this.#pending = undefined;
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.onClose(this);
    this.#socket.destroy();
  }
}

const connectionClosed = (): Error =>
  Object.assign(new Error("The connection was closed without a whole response."), { code: "ECONNRESET" });
