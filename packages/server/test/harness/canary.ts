import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { test as base } from "vitest";
import { createAddressGuard, type Resolve, type Response, Sender } from "#outbound";

const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/** Listens on all addresses of the machine, and records at which of them each TCP connection arrived. */
export class Canary {
  readonly reached: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(answer: string) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      this.reached.push((socket.localAddress ?? "").replace("::ffff:", ""));
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
      socket.once("data", () => socket.end(answer));
    });
  }

  /** @param answer the bytes that each connection receives before it is closed */
  static async listen(answer = ANSWER): Promise<Canary> {
    const canary = new Canary(answer);
    await new Promise<void>((resolve) => canary.#server.listen(0, resolve));
    return canary;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A name server by which every name leads to this machine. */
const toThisMachine: Resolve = (_hostname, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]);

/** Sends requests as a production node does whose settings allow these addresses. */
class Caller {
  readonly #sender: Sender;

  constructor(allowed: string[], resolve = toThisMachine) {
    this.#sender = new Sender(createAddressGuard({ allowLoopback: false, allowed }, resolve));
  }

  /** Sends a request. Returns its status, or the code of its error. */
  call({ origin, pathname: path }: URL): Promise<unknown> {
    return new Promise((resolve) => {
      const onDone = (response: Response) =>
        resolve(response.kind === "responded" ? response.status : ((response.error as { code?: string }).code ?? response.error));
      this.#sender.send({ origin, path, headers: {}, body: Buffer.from("{}"), maxBodyBytes: 1_000 }, onDone);
    });
  }

  /** Sends requests one after the other, so that each opens its own connection. */
  async callAll(urls: readonly URL[]): Promise<unknown[]> {
    const ends: unknown[] = [];
    for (const url of urls) ends.push(await this.call(url));
    return ends;
  }

  close(): Promise<void> {
    return this.#sender.close();
  }
}

/** A canary, and callers that must not reach it. */
export const test = base
  .extend("canary", async ({}, { onCleanup }) => {
    const canary = await Canary.listen();
    onCleanup(() => canary.close());
    return canary;
  })
  .extend("callerWith", async ({}, { onCleanup }) => {
    const callers: Caller[] = [];
    onCleanup(async () => {
      for (const caller of callers) await caller.close();
    });
    return (allowed: string[], resolve?: Resolve) => {
      const caller = new Caller(allowed, resolve);
      callers.push(caller);
      return caller;
    };
  });
