import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy that serves a node below a prefix, which it takes off: `/a/b/dashboard/` is the node's `/dashboard/`. */
export class PrefixProxy {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(prefix: string, target: string): Promise<PrefixProxy> {
    const server = createServer((asked, response) => {
      if (!asked.url?.startsWith(`${prefix}/`)) {
        response.writeHead(404).end();
        return;
      }
      const forwarded = request(
        target + asked.url.slice(prefix.length),
        { method: asked.method ?? "GET", headers: asked.headers, setHost: false },
        (reply) => {
          response.writeHead(reply.statusCode ?? 502, reply.headers);
          reply.pipe(response);
        },
      );
      forwarded.on("error", () => response.destroy());
      response.on("close", () => forwarded.destroy());
      asked.pipe(forwarded);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new PrefixProxy(server);
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
