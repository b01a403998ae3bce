import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { findSignatureFault } from "./verify.ts";

/** A callback as it arrived. */
export interface Arrival {
  readonly id: string;
  readonly attempt: number;
  readonly payload: unknown;
  /** By `performance.now()`. */
  readonly atMs: number;
}

/** What a user of Tidemill writes: an HTTP server that receives callbacks, verifies each signature and responds with 200. */
export class Handler {
  readonly arrivals: Arrival[] = [];
  /** Why each refused callback was refused. */
  readonly refused: string[] = [];
  /** The queue's callback secret. Empty until the queue exists. */
  secret = "";
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  async listen(host: string): Promise<void> {
    // Longer than Tidemill keeps idle connections, so that none closes while a callback is being sent.
    this.#server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve, reject) => this.#server.once("error", reject).listen(0, host, resolve));
  }

  get url(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `http://${family === "IPv6" ? `[${address}]` : address}:${port}/`;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const atMs = performance.now();
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // The service aborted the request. It sends it again.
    }
    const body = Buffer.concat(chunks);
    const fault = findSignatureFault(request.headers, body, this.secret);
    if (fault !== null) {
      this.refused.push(fault);
      response.writeHead(401).end();
      return;
    }
    const { id, attempt, payload } = JSON.parse(body.toString("utf8")) as Omit<Arrival, "atMs">;
    this.arrivals.push({ id, attempt, payload, atMs });
    response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}');
  }
}
