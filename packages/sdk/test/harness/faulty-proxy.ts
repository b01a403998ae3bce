import { createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** What happens to a request in place of reaching the service and bringing its response back. */
export type Fault =
  | "cut before"
  /** The service gets half of the body. */
  | "cut within"
  | "cut after"
  | "hang"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

/** A request as it passed. */
export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/**
 * A proxy between a client and a node. It records requests, and fails those that a test tells it to. When a client breaks a request off, the
 * proxy does so at the node, as others do. A request that was held back (`onRequest`) arrives whole though its client is gone.
 */
export class FaultyProxy {
  readonly passed: Passed[] = [];
  /** For each next request its fault; null lets it through. Beyond the end, all go through. */
  faults: (Fault | null)[] = [];
  /** Says which fault the next request gets, where a test chooses by the request. */
  faultOf: (passed: Passed) => Fault | null = () => this.faults.shift() ?? null;
  /** Called with each request before anything else happens. */
  onRequest: (passed: Passed) => Promise<unknown> | undefined = () => undefined;
  readonly #target: () => string;
  readonly #server = createServer((request, response) => void this.#pass(request, response));

  private constructor(target: () => string) {
    this.#target = target;
  }

  /** @param target address of the node, or a function that returns it if it may change */
  static async to(target: string | (() => string)): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(typeof target === "string" ? () => target : target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Methods and paths of the requests so far. */
  get lines(): string[] {
    return this.passed.map(({ method, path }) => `${method} ${path}`);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const body = await buffer(request).catch(() => null);
    if (body === null) return;
    const passed = { method, path: url, headers, body: body.toString() };
    this.passed.push(passed);
    const fault = this.faultOf(passed);
    await this.onRequest(passed);
    if (fault === "hang") return;
    if (fault === "cut within") await this.#sendHalf(passed);
    if (fault === "cut before" || fault === "cut within") return void request.socket.resetAndDestroy();
    if (fault !== null && fault !== "cut after") return void response.writeHead(fault.status, fault.headers).end(fault.body);
    const forwarded = send(new URL(url, this.#target()), { method, headers }, (reply) => {
      if (fault === "cut after") {
        reply.resume();
        reply.on("end", () => request.socket.resetAndDestroy());
      } else {
        response.writeHead(reply.statusCode ?? 500, reply.headers);
        reply.pipe(response);
        reply.on("error", () => request.socket.resetAndDestroy());
      }
    });
    forwarded.on("error", () => request.socket.resetAndDestroy());
    response.on("close", () => {
      if (!response.writableFinished) forwarded.destroy();
    });
    forwarded.end(body);
  }

  /** Sends a request with half of its body, and breaks the connection. */
  async #sendHalf({ method, path, headers, body }: Passed): Promise<void> {
    const forwarded = send(new URL(path, this.#target()), { method, headers });
    forwarded.on("error", () => {});
    await new Promise((resolve) => forwarded.write(body.slice(0, body.length / 2), resolve));
    forwarded.destroy();
  }
}
