import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A call as it passed. Bodies are parsed JSON. */
export interface RecordedCall {
  readonly method: string;
  readonly path: string;
  readonly request: unknown;
  readonly status: number;
  readonly response: unknown;
}

/** A proxy between a client and a node, which records calls with their responses. */
export class RecordingProxy {
  readonly calls: RecordedCall[] = [];
  readonly #target: string;
  readonly #server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const body = await text(request);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    try {
      const { authorization = "" } = headers;
      const sent = { method, headers: { authorization, "content-type": "application/json" }, ...(body !== "" && { body }) };
      const reply = await fetch(this.#target + url, { ...sent, signal: gone.signal });
      const answer = await reply.text();
      this.calls.push({ method, path: url, request: parse(body), status: reply.status, response: parse(answer) });
      response.writeHead(reply.status, { "content-type": "application/json" }).end(answer);
    } catch {
      response.destroy();
    }
  });

  private constructor(target: string) {
    this.#target = target;
  }

  static async to(target: string): Promise<RecordingProxy> {
    const proxy = new RecordingProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const parse = (body: string): unknown => (body === "" ? undefined : JSON.parse(body));
