import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** A handler that never answers. Returns its address. */
export const startHanging = (): Promise<string> => listen(createServer((request) => request.resume()));

/** A handler that answers at once, always the same. Returns its address. */
export const startAnswering = (status: number): Promise<string> =>
  listen(
    createServer((request, response) => {
      request.resume();
      response.writeHead(status).end();
    }),
  );

const QUIET_MS = 3_000;

/** A handler that holds requests until it is told to respond to all of them at once, with the same JSON. */
export class HoldingHandler {
  readonly url: string;
  readonly #held: ServerResponse[];

  private constructor(url: string, held: ServerResponse[]) {
    this.url = url;
    this.#held = held;
  }

  static async start(): Promise<HoldingHandler> {
    const held: ServerResponse[] = [];
    const url = await listen(
      createServer((request, response) => {
        request.resume();
        held.push(response);
      }),
    );
    return new HoldingHandler(url, held);
  }

  /** Waits until there are `count` requests, or until no more come. Returns how many there are. */
  async untilHeld(count: number): Promise<number> {
    let before = -1;
    while (this.#held.length < count && this.#held.length !== before) {
      before = this.#held.length;
      await wait(QUIET_MS);
    }
    return this.#held.length;
  }

  answerAll(body: string): void {
    for (const response of this.#held) response.writeHead(200, { "content-type": "application/json" }).end(body);
  }
}
