import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { closeGently, createApi, listen } from "#http";
import { systemRandom } from "#kernel";
import { until } from "../harness/service.ts";

const REQUEST = "GET /held HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const SOCKETS = 8;
/** All of them in one of eight sockets: one chance in 10 ^ 57. */
const CONNECTIONS = 64;

const create = () => {
  const authenticator = { findPrincipal: async () => null, operatorToken: null };
  const api = createApi({ authenticator, emit: () => {}, random: systemRandom });
  onTestFinished(() => api.close());
  return api;
};

let api: ReturnType<typeof create>;
let port: number;
let release: () => void;

/** Connections to the listener. Each counts in what it has received. */
async function open(count: number): Promise<{ socket: Socket; text: () => string }[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(port, "127.0.0.1").setEncoding("utf8");
      onTestFinished(() => void socket.destroy());
      let text = "";
      socket.on("data", (part) => {
        text += part;
      });
      await once(socket, "connect");
      return { socket, text: () => text };
    }),
  );
}

beforeEach(async () => {
  api = create();
  const held = Promise.withResolvers<void>();
  release = held.resolve;
  api.get("/held", async () => {
    await held.promise;
    return {};
  });
  port = Number(new URL(await listen(api, "127.0.0.1", 0, SOCKETS)).port);
});

describe("a listener", () => {
  test.runIf(process.platform === "linux")("a listener accepts connections at several sockets, and serves all of them", async () => {
    const clients = await open(CONNECTIONS);
    for (const { socket } of clients) socket.write(REQUEST);
    await until(() => api.inFlight.size === CONNECTIONS, "all requests to be in progress");
    const { promise, resolve } = Promise.withResolvers<number>();
    api.server.getConnections((_, count) => resolve(count));
    expect(await promise).toBeLessThan(CONNECTIONS);
    release();
    await until(() => clients.every(({ text }) => text().startsWith("HTTP/1.1 200")), "all responses");
  });

  test("a listener that closes answers the requests of all its sockets first", async () => {
    const clients = await open(CONNECTIONS);
    for (const { socket } of clients) socket.write(REQUEST);
    await until(() => api.inFlight.size === CONNECTIONS, "all requests to be in progress");
    const closed = closeGently(api);
    release();
    await closed;
    await until(() => clients.every(({ text }) => text().startsWith("HTTP/1.1 200")), "all responses");
    await expect(once(connect(port, "127.0.0.1"), "connect")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("a listener is refused a port at which another one listens", async () => {
    await expect(listen(create(), "127.0.0.1", port, SOCKETS)).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  test("a listener gets the port that it asks for", async () => {
    await api.close();
    expect(await listen(create(), "127.0.0.1", port, SOCKETS)).toBe(`http://127.0.0.1:${port}`);
  });
});
